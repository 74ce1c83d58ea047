import { z } from 'zod';
import { presentations } from '../src/dashboard/pages/index.js';
import { encodeCursor } from '../src/management/cursor.js';
import type { Resource } from '../src/management/resource.js';
import { registry } from '../src/management/resources/index.js';
import { Connection, requestText, type Reply } from './driver.js';
import { median, percentile } from './measure.js';
import { manager } from './soak-mix.js';
import type { Product } from './targets/product.js';
import { Visit } from './visit.js';

/** An address of a list, and how long it took: the first time, and the median of the next three. Milliseconds. */
type Timed = { readonly address: string; readonly first: number; readonly ms: number; readonly status: number };

/** Filters as the query of an address has them, by name. */
type Query = Readonly<Record<string, string>>;

const day = 86_400_000;

/** Lists of the tables that have grown. */
const listed = ['users', 'sessions', 'webhook_deliveries'];

/** Values that no schema tells: a frequent one, a rare one, one that nothing fits. */
async function examplesOf({ ctx }: Product, size: number): Promise<Record<string, readonly string[]>> {
  const id = async (text: string) => {
    const { rows } = await ctx.knex.raw<{ rows: { id: string }[] }>(`${text} limit 1`, [ctx.environment.id]);
    return rows[0]?.id ?? '';
  };
  const nobody = '00000000-0000-7000-8000-000000000000';
  const user = await id(`select id from users where environment_id = ? and email_key = 'person${size >> 1}@example.com'`);
  const webhook = await id(`select id from webhooks where environment_id = ? and name = 'Receiver 3'`);
  const event = await id(`select event_id as id from webhook_deliveries where environment_id = ?`);
  const roles = ['Everybody', 'Rare'].map((name) => id(`select id from roles where environment_id = ? and name = '${name}'`));
  return {
    'users email': [`person${size >> 1}@example.com`, 'nobody@example.com'],
    'users external_id': [`hr-${size >> 1}`, 'nobody'],
    'users search': ['p', 'person42', `person${size >> 1}`, 'first42', 'last4242', 'nobody'],
    'users role': [...(await Promise.all(roles)), nobody],
    'users connection': [nobody],
    'sessions user': [user, nobody],
    'sessions ip_address': ['203.0.100.17', '198.51.100.1'],
    'webhook_deliveries webhook': [webhook, nobody],
    'webhook_deliveries event_id': [event, nobody],
    'webhook_deliveries event_type': ['user.created', 'token.issued', 'role.created'],
    'webhook_deliveries response_status': ['2xx', '3xx', '5xx', '200', '202', '204', '404'],
  };
}

/** Each filter of the resource with each of its values. @throws {Error} for a filter without any */
function filtersOf(resource: Resource, examples: Record<string, readonly string[]>, now: Date): Query[] {
  const ago = (days: number) => new Date(now.getTime() - days * day).toISOString();
  return Object.entries(resource.filters).flatMap(([name, { schema, comparisons }]): Query[] => {
    if (comparisons)
      return [0.1, 15, 4000].flatMap((days) => [{ [`filter[${name}][gte]`]: ago(days) }, { [`filter[${name}][lt]`]: ago(days) }]);
    const values = examples[`${resource.path} ${name}`] ?? (schema instanceof z.ZodEnum ? schema.options.map(String) : undefined);
    if (values === undefined) throw new Error(`no values are known for the filter ${name} of ${resource.path}`);
    return values.map((value) => ({ [`filter[${name}]`]: value }));
  });
}

/** All orders of the resource, in both directions. */
const sortsOf = (resource: Resource): string[] => Object.keys(resource.sorts).flatMap((name) => [name, `-${name}`]);

/** What is asked of a list: each filter in each order, and each two filters in the usual order and in one that has nothing to do with them. */
function queriesOf(resource: Resource, examples: Record<string, readonly string[]>, now: Date): Query[] {
  const filters = filtersOf(resource, examples, now);
  const sorts = sortsOf(resource);
  const singles = [{}, ...filters].flatMap((filter) => sorts.map((sort) => ({ ...filter, sort })));
  const other = Object.keys(resource.sorts).find((name) => name !== 'created_at' && name !== 'updated_at') ?? 'created_at';
  const pairs = filters.flatMap((one, index) =>
    filters
      .slice(index + 1)
      .filter((another) => Object.keys(one)[0] !== Object.keys(another)[0])
      .flatMap((another) => ['-created_at', other].map((sort) => ({ ...one, ...another, sort }))),
  );
  return [...singles, ...pairs];
}

/** A cursor in the middle of the table, in an order: page ten thousand, say. */
async function middleOf({ ctx }: Product, resource: Resource, sort: string, id: string): Promise<string> {
  const { expression = '' } = resource.sorts[sort.replace('-', '')] ?? {};
  const { table } = resource.source;
  const { rows } = await ctx.knex.raw<{ rows: { value: string }[] }>(
    `select (${expression})::text as value from ${table} where environment_id = ? and id = ?`,
    [ctx.environment.id, id],
  );
  return encodeCursor(ctx, resource.path, sort, { values: [rows[0]?.value ?? ''], id });
}

async function timeOf(ask: () => Promise<Reply>): Promise<Omit<Timed, 'address'>> {
  const times: number[] = [];
  let status = 200;
  // What takes a second once isn't asked for again and again.
  for (let i = 0; i < 4 && !(times[0] !== undefined && times[0] > 1000); i++) {
    const began = performance.now();
    const reply = await ask();
    times.push(performance.now() - began);
    if (reply.status !== 200) status = reply.status;
  }
  return { first: times[0] ?? 0, ms: times.length > 1 ? median(times.slice(1)) : (times[0] ?? 0), status };
}

async function tokenFor(target: Product, connection: Connection): Promise<string> {
  const fields = {
    grant_type: 'client_credentials',
    resource: `http://localhost:${target.port}/api`,
    client_id: manager.id,
    client_secret: manager.secret,
  };
  const { body } = await connection.send(requestText('POST', '/oauth/token', { Host: `localhost:${target.port}` }, fields));
  const { access_token } = JSON.parse(body) as { access_token?: string };
  if (access_token === undefined) throw new Error(body);
  return access_token;
}

/** The lists of the Management API, from their beginning and from the middle. */
async function timeApi(target: Product, examples: Record<string, readonly string[]>, seconds: number): Promise<Timed[]> {
  const connection = new Connection(target.port);
  const headers = {
    Host: `localhost:${target.port}`,
    Authorization: `Bearer ${await tokenFor(target, connection)}`,
    Accept: 'application/vnd.api+json',
  };
  const timed: Timed[] = [];
  for (const path of listed) {
    const resource = registry.byPath.get(path) as Resource;
    const { table } = resource.source;
    // Half of the way from the first to the last.
    const { rows } = await target.ctx.knex.raw<{ rows: { id: string }[] }>(
      `select id from ${table} where environment_id = :environment and created_at >=
         (select created_at from ${table} where environment_id = :environment order by created_at limit 1) + (now() -
         (select created_at from ${table} where environment_id = :environment order by created_at limit 1)) / 2 order by created_at limit 1`,
      { environment: target.ctx.environment.id },
    );
    const middles = new Map<string, string>();
    for (const sort of sortsOf(resource)) middles.set(sort, await middleOf(target, resource, sort, rows[0]?.id ?? ''));
    const queries = queriesOf(resource, examples, target.ctx.clock.now());
    const until = performance.now() + seconds * 1000;
    for (const [index, query] of queries.entries()) {
      if (performance.now() > until) {
        console.error(`... ${path}: ${queries.length - index} of ${queries.length} combinations were not asked for within ${seconds} s`);
        break;
      }
      const middle = Object.keys(query).length > 2 ? [] : [{ 'page[after]': middles.get(query['sort'] ?? '') ?? '' }];
      for (const page of [{}, ...middle] as Query[]) {
        const address = `/api/${path}?${new URLSearchParams({ ...query, ...page }).toString()}`;
        const text = requestText('GET', address, headers);
        const about = decodeURIComponent(address).replace(/page\[after\]=.*/, 'from the middle');
        timed.push({ address: about, ...(await timeOf(() => connection.send(text))) });
      }
    }
  }
  connection.close();
  return timed;
}

/** The lists of the dashboard as its forms and headings lead to them, and the overview. */
async function timeDashboard(target: Product, person: { email: string; password: string }): Promise<Timed[]> {
  const connection = new Connection(target.port);
  const visit = new Visit(connection, target);
  const form = await visit.open('/login?return_to=%2Fdashboard');
  if (form === null) throw new Error('there is no page to sign in on');
  await visit.submit(form, person);
  const headers = { Host: `localhost:${target.port}`, Accept: 'text/html', Cookie: visit.cookie() };
  const timed: Timed[] = [];
  const time = async (address: string) => {
    const text = requestText('GET', address, headers);
    timed.push({ address, ...(await timeOf(() => connection.send(text))) });
  };
  for (const address of ['/dashboard', '/dashboard?days=90']) await time(address);
  const examples: Query = { search: 'person42', ip_address: '203.0.100.17' };
  for (const presentation of presentations.filter(({ path }) => listed.includes(path))) {
    const resource = registry.byPath.get(presentation.path) as Resource;
    const sorts = presentation.columns.flatMap(({ sort }) => (sort === undefined ? [] : [sort, `-${sort}`]));
    const narrowed = presentation.filters.flatMap((spec): Query[] => {
      const { schema } = resource.filters[spec.filter ?? spec.name] ?? {};
      if (spec.kind === 'period') return ['1h', '24h', '7d', '30d', 'all'].map((value) => ({ [spec.name]: value }));
      const values = schema instanceof z.ZodEnum ? schema.options.map(String) : [examples[spec.name] ?? ''];
      return values.filter((value) => value !== '').map((value) => ({ [spec.name]: value }));
    });
    for (const query of [{}, ...narrowed])
      for (const sort of [undefined, ...sorts])
        await time(
          `/dashboard/${presentation.path}?${new URLSearchParams({ ...query, ...(sort === undefined ? {} : { sort }) }).toString()}`,
        );
  }
  connection.close();
  return timed;
}

const most = 100;

function summary(name: string, timed: readonly Timed[]): string[] {
  const of = (share: number) => percentile(timed.map(({ ms }) => ms), share).toFixed(1); // prettier-ignore
  const slow = timed.filter(({ ms, status }) => ms > most || status !== 200).sort((one, other) => other.ms - one.ms);
  return [
    `${name}: ${timed.length} addresses, p50 ${of(0.5)} ms, p99 ${of(0.99)} ms, slowest ${of(1)} ms (the first time p99 ${percentile(timed.map(({ first }) => first), 0.99).toFixed(0)} ms); ${slow.length} above ${most} ms`, // prettier-ignore
    ...slow.slice(0, 60).map(({ address, first, ms, status }) => `  ${ms.toFixed(0).padStart(6)} ms (first ${first.toFixed(0)})  ${status === 200 ? '' : `${status} `}${address}`), // prettier-ignore
  ];
}

/** Times every list of the grown tables, each for so many seconds at most: single filters in every order come first, then two at once. Text. */
export async function measureLists(
  target: Product,
  size: number,
  administrator: { email: string; password: string },
  seconds = 600,
): Promise<string[]> {
  const timed = await timeApi(target, await examplesOf(target, size), seconds);
  const pages = await timeDashboard(target, administrator);
  return [...listed.flatMap((path) => summary(`/api/${path}`, timed.filter(({ address }) => address.startsWith(`/api/${path}?`)))), ...summary('/dashboard', pages)]; // prettier-ignore
}
