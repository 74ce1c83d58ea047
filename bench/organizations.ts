// `npx tsx bench/organizations.ts`: a thousand organizations with a hundred thousand members, and how long lists, choosers, tokens and a directory take then.
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { table } from '../src/db/scope.js';
import type { OrganizationRow } from '../src/db/tables/organizations.js';
import { findUser, type UserRow } from '../src/db/tables/users.js';
import { createDirectory, directoryUrl } from '../src/domain/directories/directories.js';
import { transaction, type Context } from '../src/domain/context.js';
import { permit } from '../test/support/administrators.js';
import { addClient, addUser } from '../test/support/data.js';
import { sendScim } from '../test/support/directories.js';
import { link, manage, startManagedService } from '../test/support/management.js';
import { authorizeCode, redeem, tokenRequest, type CodeGrant } from '../test/support/oauth.js';
import { signedIn } from '../test/support/signed-in.js';
import { openContext } from '../test/support/standalone.js';
import { openServer } from './database.js';
import { familyTime, usedBetween } from './processor-time.js';

const [organizations, members, inLargest, rounds] = [1000, 100_000, 10_000, 7];
const uuid = (kind: string, n = 'n') => `('00000000-0000-7000-${kind}-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
const idOf = (kind: string, n: number) => `00000000-0000-7000-${kind}-${n.toString(16).padStart(12, '0')}`;
/** A tenth of the members are the first organization's; the others are spread. */
const organizationOf = `case when n <= ${inLargest} then 1 else 2 + n % ${organizations - 1} end`;

/** Rows by SQL: organizations with a verified domain and a connection each, people who are members of one, a hundred invitations and groups of the largest. */
async function fill({ environment }: Context, url: string, directory_id: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const own = `'${environment.id}'::uuid`;
  const at = `now() - interval '300 days' + n * interval '4 minutes'`;
  const run = (text: string) => client.query(text);
  try {
    await run(`insert into organizations (environment_id, id, name, display_name, external_id, status, created_at, updated_at)
      select ${own}, ${uuid('8001')}, 'customer-' || n, 'Customer ' || n || ' ' || (array['GmbH', 'Ltd', 'Inc.', 'AG'])[1 + n % 4], 'crm-' || n,
        case when n % 50 = 0 then 'disabled' else 'enabled' end, ${at}, ${at} from generate_series(2, ${organizations}) n`);
    await run(`insert into organization_domains (environment_id, id, organization_id, domain, status, verification_token, verified_at, created_at, updated_at)
      select ${own}, ${uuid('8002')}, ${uuid('8001')}, 'customer-' || n || '.example', 'verified', 'x', now(), ${at}, ${at} from generate_series(1, ${organizations}) n`);
    await run(`insert into connections (environment_id, id, organization_id, name, display_name, strategy, issuer, provider_client_id, account_linking, created_at, updated_at)
      select ${own}, ${uuid('8003')}, ${uuid('8001')}, 'customer-' || n, 'Customer ' || n, 'oidc', 'https://idp-' || n || '.example', 'x', 'verified_email', ${at}, ${at}
      from generate_series(1, ${organizations}) n`);
    await run(`insert into users (environment_id, id, email, email_key, email_verified, first_name, last_name, created_at, updated_at)
      select ${own}, ${uuid('8004')}, 'person-' || n || '@customer-' || ${organizationOf} || '.example', 'person-' || n || '@customer-' || ${organizationOf} || '.example',
        true, 'First' || n % 5000, 'Last' || n * 7 % 20000, ${at}, ${at} from generate_series(1, ${members}) n`);
    await run(`insert into organization_memberships (environment_id, id, organization_id, user_id, status, source, created_at, updated_at)
      select ${own}, ${uuid('8005')}, ${uuid('8001', organizationOf)}, ${uuid('8004')}, case when n % 40 = 0 then 'suspended' else 'active' end,
        (array['manual', 'invitation', 'directory'])[1 + n % 3], ${at}, ${at} from generate_series(1, ${members}) n`);
    await run(`insert into organization_membership_roles (environment_id, membership_id, role_id)
      select ${own}, ${uuid('8005')}, id from generate_series(1, ${members}) n, roles where environment_id = ${own} and kind = 'organization' and n % 20 = 0`);
    await run(`insert into organization_invitations (environment_id, id, organization_id, email, email_key, token_digest, sent_at, expires_at, created_at, updated_at)
      select ${own}, ${uuid('8006')}, ${uuid('8001', '1 + n % 1000')}, 'guest-' || n || '@else.example', 'guest-' || n || '@else.example',
        sha256(('t' || n)::bytea), now(), now() + interval '7 days', ${at}, ${at} from generate_series(1, 20000) n`);
    await run(`insert into directory_users (environment_id, id, directory_id, user_id, user_name, user_name_key, external_id, resource, folded, created_at, updated_at)
      select ${own}, ${uuid('8007')}, '${directory_id}', ${uuid('8004')}, 'person-' || n || '@customer-1.example', 'person-' || n || '@customer-1.example', 'x' || n,
        r.resource, r.resource, ${at}, ${at} from generate_series(1, ${inLargest}) n, jsonb_build_object('displayName', 'person ' || n, 'emails',
        jsonb_build_array(jsonb_build_object('type', 'work', 'value', 'person-' || n || '@customer-1.example', 'primary', true))) r(resource)`);
    await run(`insert into organization_groups (environment_id, id, organization_id, directory_id, display_name, display_name_key, created_at, updated_at)
      select ${own}, ${uuid('8008')}, ${uuid('8001', '1')}, '${directory_id}', 'Group ' || n, 'group ' || n, ${at}, ${at} from generate_series(1, 100) n`);
    await run(`insert into organization_group_members (environment_id, group_id, directory_user_id)
      select ${own}, ${uuid('8008', '1 + n % 100')}, ${uuid('8007')} from generate_series(1, ${inLargest}) n`);
    await run('truncate cache_changes');
    await run('vacuum analyze');
  } finally {
    await client.end();
  }
}

/** Rows that PostgreSQL has read without an index so far, by table. */
async function scanned({ db }: Context): Promise<Map<string, number>> {
  // Backends tell of what they did within a second.
  await wait(1500);
  const { rows } = await db.knex.raw<{ rows: { relname: string; seq_tup_read: string }[] }>(
    'select relname, seq_tup_read from pg_stat_user_tables',
  );
  return new Map(rows.map(({ relname, seq_tup_read }) => [relname, Number(seq_tup_read)]));
}

type Answer = { readonly status: number };

/**
 * Does it some times; a line with the processor time of the service and PostgreSQL, which other work on the machine doesn't change, the median until the answer,
 * and the tables of which more than a thousand rows were read without an index each time.
 */
async function time(ctx: Context, name: string, act: (round: number) => Promise<Answer>): Promise<void> {
  await act(-1);
  const before = await scanned(ctx);
  const times: number[] = [];
  const [own, used] = [process.cpuUsage(), new Map(familyTime(server.pid))];
  for (let round = 0; round < rounds; round += 1) {
    const begun = performance.now();
    const { status } = await act(round);
    times.push(performance.now() - begun);
    if (status >= 400) throw new Error(`${name}: ${status}`);
  }
  const { user, system } = process.cpuUsage(own);
  const cpu = (user + system) / 1000 + usedBetween(used, new Map(familyTime(server.pid))) / 1e6;
  const after = await scanned(ctx);
  const read = [...after].filter(([relname, count]) => count - (before.get(relname) ?? 0) > 1000 * rounds).map(([relname]) => relname);
  const sorted = times.toSorted((one, other) => one - other).map((ms) => ms.toFixed(0));
  console.log(
    `${name.padEnd(62)} ${(cpu / rounds).toFixed(0).padStart(9)} ${sorted[Math.floor(rounds / 2)]?.padStart(8)} ms  ${read.join(' ')}`,
  );
}

const server = await openServer(process.env['BENCH_DATABASE_URL'] ?? null);
const database = { url: await server.create('organizations'), secretKey: randomBytes(32).toString('base64') };
await (await openContext(database.url, database.secretKey)).close();
const service = await startManagedService({ RATE_LIMITS: 'off' }, { database, upkeep: false });
try {
  const ctx = await service.context();
  const api = await manage(service.url);
  const largest = (await api.create('organizations', { name: 'customer-1', display_name: 'Customer 1' }))['id'] as string;
  await ctx.db
    .knex('organizations')
    .where({ id: largest })
    .update({ id: idOf('8001', 1) });
  const [row] = (await table<OrganizationRow>(ctx.scope, 'organizations')) as OrganizationRow[];
  const { directory, token } = await transaction(ctx, (tx) => createDirectory(tx, {}, row as OrganizationRow));
  await fill(ctx, database.url, directory.id);
  ctx.cache.clear();
  const scim = `${directoryUrl(ctx, directory)}`;

  // Somebody of the largest who is a member of fifty others, and an administrator.
  const person = (await findUser(ctx.scope, idOf('8004', 7))) as UserRow;
  await ctx.db.knex.raw(
    `insert into organization_memberships (environment_id, id, organization_id, user_id, source, created_at, updated_at)
     select ?, ${uuid('8009')}, ${uuid('8001', '100 + n')}, ?, 'manual', now(), now() from generate_series(1, 49) n`,
    [ctx.environment.id, person.id],
  );
  const operator = await addUser(ctx);
  await permit(ctx, operator.id, 'organizations:read', 'organization_memberships:read', 'organization_invitations:read', 'organization_domains:read', 'connections:read', 'users:read', 'roles:read', 'directories:read'); // prettier-ignore
  const [browser, dashboard] = [await signedIn(service, person), await signedIn(service, operator)];
  const client = await addClient(ctx, { organization_usage: 'require', first_party: true });
  const chosen = { organization: 'customer-1', scope: 'openid offline_access' };
  const [at, org] = [idOf('8001', 1), 'filter[organization]'];

  const gets: readonly string[] = [
    '/organizations',
    '/organizations?sort=display_name&page[size]=100',
    '/organizations?filter[search]=customer 77',
    '/organizations?filter[status]=disabled',
    '/organizations?filter[domain]=customer-777.example',
    '/organizations?include=domains,connections,default_roles&page[size]=100',
    '/organization_memberships?page[size]=100&include=user,organization,roles',
    `/organization_memberships?${org}=${at}&page[size]=100&include=user`,
    `/organization_memberships?${org}=${at}&filter[status]=suspended`,
    `/organization_memberships?${org}=${idOf('8001', 500)}&filter[status]=suspended&include=user`,
    '/organization_memberships?filter[status]=suspended&sort=-created_at',
    `/organization_memberships?filter[user]=${person.id}`,
    `/organization_memberships?filter[role]=${((await api.get('/roles?filter[kind]=organization')).body['data'] as { id: string }[])[0]?.id}`,
    `/organization_invitations?${org}=${at}&filter[status]=pending`,
    '/organization_invitations?filter[email]=guest-777@else.example',
    '/organization_domains?page[size]=100',
    `/organization_groups?${org}=${at}&filter[search]=group 7`,
    `/connections?${org}=${at}`,
  ];
  console.log(`${'GET /api, POST /oauth/token and so on'.padEnd(62)} processor answered     read without an index`);
  for (const path of gets) await time(ctx, path, () => api.get(path));
  for (const path of ['/dashboard/organizations', '/dashboard/organizations?search=customer+77', `/dashboard/organizations/${at}`, `/dashboard/organization_memberships?organization=${at}`, '/dashboard/organization_invitations']) await time(ctx, path, () => dashboard.get(path)); // prettier-ignore

  const authorize = (more: Record<string, string>) =>
    `/oauth/authorize?${new URLSearchParams({ client_id: client.id, redirect_uri: client.redirect_uris[0] as string, response_type: 'code', scope: 'openid', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256', ...more }).toString()}`; // prettier-ignore
  await time(ctx, 'the chooser of somebody with fifty', () => browser.get(authorize({ organization: 'choose' })));
  await time(ctx, 'a code for an organization, silently', () => browser.get(authorize({ organization: 'customer-1', prompt: 'none' })));
  await time(ctx, 'the sign-in page of an organization', async () => fetch(`${service.url}${authorize({ organization: 'customer-1' })}`));
  const codes: CodeGrant[] = [];
  for (let n = 0; n <= rounds; n += 1) codes.push(await authorizeCode(browser, client, chosen));
  let refresh_token = '';
  await time(ctx, 'a token with org_id', async (round) => {
    const answer = await redeem(service.url, client, codes[round + 1] as CodeGrant);
    refresh_token = answer.body.refresh_token as string;
    return answer;
  });
  await time(ctx, 'its refresh', async () => {
    const answer = await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token });
    refresh_token = answer.body.refresh_token as string;
    return answer;
  });
  await time(ctx, '/account of somebody with fifty', () => browser.get('/account'));

  const invite = (round: number) =>
    api.attempt('organization_invitations', { email: `new-${round + 1}@else.example` }, { organization: link('organization', at) }); // prettier-ignore
  await time(ctx, 'an invitation', invite);
  const send = (method: string, path: string, body?: unknown) => sendScim(`${scim}${path}`, token, method, body);
  const patch = (Operations: unknown) => ({ schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations });
  const members_of = (round: number) => Array.from({ length: 100 }, (_, n) => ({ value: idOf('8007', 1 + (round + 2) * 100 + n) }));
  await time(ctx, 'SCIM GET /Users?count=200', () => send('GET', '/Users?count=200'));
  await time(ctx, 'SCIM GET /Users?startIndex=9801&count=200', () => send('GET', '/Users?startIndex=9801&count=200'));
  await time(ctx, 'SCIM filter userName eq', () => send('GET', '/Users?filter=userName eq "PERSON-7777@customer-1.example"'));
  await time(ctx, 'SCIM filter displayName co', () => send('GET', '/Users?filter=displayName co "son 77"&count=20'));
  await time(ctx, 'SCIM filter active eq true and externalId eq', () =>
    send('GET', '/Users?filter=active eq true and externalId eq "x777"'),
  );
  await time(ctx, 'SCIM GET /Groups?excludedAttributes=members', () => send('GET', '/Groups?excludedAttributes=members'));
  await time(ctx, 'SCIM POST /Users', (n) => send('POST', '/Users', { userName: `made-${n + 1}@customer-1.example` }));
  await time(ctx, 'SCIM PATCH /Users active false', (n) => send('PATCH', `/Users/${idOf('8007', 500 + n)}`, patch([{ op: 'Replace', path: 'active', value: 'False' }]))); // prettier-ignore
  await time(ctx, 'SCIM PATCH /Groups a hundred members', (n) => send('PATCH', `/Groups/${idOf('8008', 3)}`, patch([{ op: 'Add', path: 'members', value: members_of(n) }]))); // prettier-ignore
} finally {
  await service.stop();
  await server.stop();
}
