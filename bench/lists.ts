import { presentations } from '../src/dashboard/pages/index.js';
import { Connection, requestText } from './driver.js';
import { addRoles, administrator, giveRoles, type GrownService } from './grown.js';
import { fillTables, tableSizes } from './grown-rows.js';
import { percentile } from './measure.js';
import { familyTime, processorTime, usedBetween } from './processor-time.js';
import { Visit } from './visit.js';

/**
 * An address of the dashboard; how long it took, the first time and the fastest of the next three; and what each of those cost the service and PostgreSQL
 * together in processor time, which other work on the machine doesn't change. Milliseconds.
 */
type Timed = { readonly address: string; readonly first: number; readonly ms: number; readonly cpu: number; readonly status: number };

/** The tables that grow with people, and have lists. */
const listed = ['users', 'sessions', 'webhook_deliveries'];

/** What is typed into filters: frequent, rare, and what nothing fits. */
const typed: Readonly<Record<string, readonly string[]>> = {
  search: ['p', 'person4', 'person42', 'person4242', 'first42', 'last4242', 'nobody'],
  ip_address: ['203.0.100.17', '198.51.100.1'],
};

/** The texts that a filter of a page has to choose from, or that are typed into it. */
function choicesOf(page: string, name: string): readonly string[] {
  const select = new RegExp(`<select[^>]* name="${name}"[^>]*>(.*?)</select>`, 's').exec(page)?.[1] ?? '';
  const values = [...select.matchAll(/<option value="([^"]+)"/g)].map((match) => match[1] as string);
  return values.length > 0 ? values : (typed[name] ?? []);
}

/** The links of a list to its other orders and pages. */
const linksOf = (page: string, path: string): string[] =>
  [...page.matchAll(/href="([^"]+)"/g)]
    .map((match) => (match[1] as string).replaceAll('&amp;', '&'))
    .filter((href) => href.startsWith(`/dashboard/${path}?`) && /[?&](sort|after)=/.test(href));

/**
 * Every list as the dashboard offers it: each filter with each of its choices, each two of them, and from each of these pages the links to other orders and to
 * the next page.
 */
async function timeDashboard({ product }: GrownService, postgres: number): Promise<Timed[]> {
  const connection = new Connection(product.port);
  const visit = new Visit(connection, product);
  const form = await visit.open('/login?return_to=%2Fdashboard');
  if (form === null) throw new Error('there is no page to sign in on');
  await visit.submit(form, administrator);
  const headers = { Host: `localhost:${product.port}`, Accept: 'text/html', Cookie: visit.cookie() };
  const timed = new Map<string, Timed>();
  const time = async (address: string): Promise<string> => {
    const text = requestText('GET', address, headers);
    const times: number[] = [];
    let reply = { status: 0, body: '' };
    const used = () => new Map([...familyTime(postgres), [product.pid, processorTime(product.pid)]]);
    let before = used();
    for (let i = 0; i < 4; i++) {
      if (i === 1) before = used();
      const began = performance.now();
      reply = await connection.send(text);
      times.push(performance.now() - began);
    }
    const cpu = usedBetween(before, used()) / 3e6;
    timed.set(address, { address, cpu, first: times[0] ?? 0, ms: Math.min(...times.slice(1)), status: reply.status });
    return reply.body;
  };
  for (const { path, filters } of presentations.filter((one) => listed.includes(one.path))) {
    const plain = await time(`/dashboard/${path}`);
    const narrowed = filters.map(({ name }) => choicesOf(plain, name).map((value) => [name, value] as const));
    const singles = narrowed.flat().map((one) => [one]);
    const pairs = narrowed.flatMap((some, index) =>
      narrowed
        .slice(index + 1)
        .flat()
        .flatMap((other) => some.map((one) => [one, other])),
    );
    for (const query of [[], ...singles, ...pairs]) {
      const page = await time(
        `/dashboard/${path}?${new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString()}`,
      );
      for (const link of linksOf(page, path)) if (!timed.has(link) && query.length < 2) await time(link);
    }
  }
  connection.close();
  return [...timed.values()];
}

const most = 100;

/** Fills users, sessions and deliveries with so many rows each, and times every list of them that the dashboard offers. Text. */
export async function measureLists(service: GrownService, size: number, postgres: number): Promise<string> {
  await addRoles(service.product);
  await fillTables(service.product, service.databaseUrl, size, 2, listed);
  await giveRoles(service.product, service.databaseUrl, size);
  const all = await timeDashboard(service, postgres);
  const summary = (name: string, timed: readonly Timed[]): string => {
    const at = (share: number, of: (one: Timed) => number) => percentile(timed.map(of), share).toFixed(1);
    const figures = (of: (one: Timed) => number) => `p50 ${at(0.5, of)}, p99 ${at(0.99, of)}, slowest ${at(1, of)} ms`;
    const slow = timed.filter(({ cpu, status }) => cpu > most || status !== 200).sort((one, other) => other.cpu - one.cpu);
    const lines = slow
      .slice(0, 20)
      .map((one) => `  ${one.cpu.toFixed(0)} ms (answered in ${one.ms.toFixed(0)}), ${one.status}: ${one.address}`);
    return [
      `${name}: ${timed.length} addresses, processor time ${figures(({ cpu }) => cpu)} (aim ${most}), answered in ${figures(({ ms }) => ms)}; ${slow.length} above ${most} ms or refused`,
      ...lines,
    ].join('\n');
  };
  const each = listed.map((path) => summary(`/dashboard/${path}`, all.filter(({ address }) => address.split('?')[0] === `/dashboard/${path}`))); // prettier-ignore
  return [...(await tableSizes(service.databaseUrl)), ...each, summary('all lists', all)].join('\n');
}
