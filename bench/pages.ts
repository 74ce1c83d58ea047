import { Connection, requestText } from './driver.js';
import { addRoles, administrator, giveRoles, type GrownService } from './grown.js';
import { connectTo, fillTables, tableSizes } from './grown-rows.js';
import { percentile } from './measure.js';
import { familyTime, processorTime, usedBetween } from './processor-time.js';
import { managementHeaders } from './soak-mix.js';
import { Visit } from './visit.js';

/** How often each page is asked for. */
const times = 40;
/** What a page may take, in milliseconds. */
const most = 300;

/** What is typed to find somebody: frequent and rare parts of names and addresses, whole names, and what nobody has. */
const sought = ['p', 'on', 'person42', 'rson4242', 'ast1234', 'First42 Last14', 'person777777@example.com', 'nobody at all'];

/**
 * Entries of the audit log: two for each person, their own sign-ins and refusals, and as many as a tenth of that by and about one who has by far the most.
 * @returns the one's id
 */
async function fillAuditLog({ product: { ctx } }: GrownService, url: string, size: number): Promise<string> {
  const client = await connectTo(url);
  const { rows } = await client.query<{ id: string }>('select id from users where email_key = $1', ['person7@example.com']);
  const busiest = rows[0]?.id ?? '';
  await client.query(
    `insert into audit_logs (environment_id, id, occurred_at, action, event, outcome, reason, actor_kind, actor_id, target_type, target_id, target_display, changes,
       ip_address, user_agent, request_id, security_event)
     select $1, uuid_v7($2::timestamptz - n * interval '2 seconds'), $2::timestamptz - n * interval '2 seconds', action, action, case when refused then 'failure' else 'success' end,
       case when refused then 'invalid_password' end, case when refused then 'anonymous' else 'user' end, case when not refused then who end, 'user', who,
       email, '{}', '203.0.113.' || n % 250, 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', gen_random_uuid(), true
     from (select n, n % 3 = 0 as refused, case when n % 3 = 0 then 'login.failed' else 'login.succeeded' end as action,
             case when n % 10 = 0 then $3 else id::text end as who, email
           from (select id, email, 2 * row_number() over () - part as n from users, generate_series(0, 1) part) people) entries`,
    [ctx.environment.id, ctx.clock.now(), busiest],
  );
  await client.query('vacuum analyze audit_logs');
  await client.end();
  console.error(`... ${2 * size} entries of the audit log`);
  return busiest;
}

/** The dashboard's pages and the calls of the Management API that people's number could slow down: names and their addresses. */
function addressesOf(busiest: string, ordinary: string): ReadonlyMap<string, readonly string[]> {
  const query = (address: string, name: string) => sought.map((text) => `${address}?${new URLSearchParams({ [name]: text }).toString()}`);
  const timeline = (id: string) =>
    ['', '?kind=refusals', '?kind=sign_ins', '?kind=changes'].map((kind) => `/dashboard/users/${id}/activity${kind}`);
  return new Map([
    ['overview', ['/dashboard']],
    ['search field', query('/dashboard/search', 'q')],
    ['users', ['/dashboard/users', '/dashboard/users?status=blocked', ...query('/dashboard/users', 'search')]],
    ['sessions', ['/dashboard/sessions']],
    ['a person', [`/dashboard/users/${busiest}`, `/dashboard/users/${ordinary}`]],
    ['timeline of most people', timeline(ordinary)],
    ['timeline of the busiest', timeline(busiest)],
    ['audit log, security events', ['/dashboard/audit_logs', '/dashboard/security_events']],
    ['filter[search]', query('/api/users', 'filter[search]')],
  ]);
}

/** A million people, with their sessions and entries of the audit log: how long each page takes that they could slow down, and what it costs the service and
 * PostgreSQL in processor time, which other work on the machine doesn't change. Text. */
export async function measurePages(service: GrownService, size: number, postgres: number): Promise<string> {
  const { product, databaseUrl } = service;
  await addRoles(product);
  await fillTables(product, databaseUrl, size, 2, ['users', 'sessions']);
  await giveRoles(product, databaseUrl, size);
  const busiest = await fillAuditLog(service, databaseUrl, size);
  const connection = new Connection(product.port);
  const visit = new Visit(connection, product);
  const form = await visit.open('/login?return_to=%2Fdashboard');
  if (form === null) throw new Error('there is no page to sign in on');
  await visit.submit(form, administrator);
  const page = { Host: `localhost:${product.port}`, Accept: 'text/html', Cookie: visit.cookie() };
  const api = await managementHeaders(connection, product);
  const listed = await connection.send(requestText('GET', '/api/users?filter%5Bsearch%5D=person99&page%5Bsize%5D=1', api));
  const ordinary = (JSON.parse(listed.body) as { data: { id: string }[] }).data[0]?.id ?? '';
  const lines = await tableSizes(databaseUrl);
  for (const [name, addresses] of addressesOf(busiest, ordinary)) {
    const all: number[] = [];
    const costs: number[] = [];
    const slow: string[] = [];
    for (const address of addresses) {
      const text = requestText('GET', address, address.startsWith('/api/') ? api : page);
      const taken: number[] = [];
      const used = () => new Map([...familyTime(postgres), [product.pid, processorTime(product.pid)]]);
      const before = used();
      for (let i = 0; i < times; i++) {
        const began = performance.now();
        const { status } = await connection.send(text);
        if (status !== 200) throw new Error(`${address} answers ${status}`);
        taken.push(performance.now() - began);
      }
      all.push(...taken);
      const cost = usedBetween(before, used()) / 1e6 / times;
      costs.push(cost);
      if (cost > most || percentile(taken, 0.5) > most)
        slow.push(`    ${cost.toFixed(0)} ms of processors, p50 ${percentile(taken, 0.5).toFixed(0)} ms: ${address}`);
    }
    const figures = `answered in p50 ${percentile(all, 0.5).toFixed(0)}, p99 ${percentile(all, 0.99).toFixed(0)} ms; processor time at most ${Math.max(...costs).toFixed(0)} ms`;
    lines.push(`  ${name}: ${addresses.length} addresses, ${figures} (aim ${most})`, ...slow);
    console.error(lines.slice(-1 - slow.length).join('\n'));
  }
  connection.close();
  return lines.join('\n');
}
