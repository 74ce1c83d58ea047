// What was issued belongs to the record that it was issued to, or for, and not to its name: after a record is deleted and another of its name is made,
// nothing of the old one lives. The columns that hold such names are read from the schema.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { type Browser, pkcePair } from '../support/browser.js';
import { authorizeGet } from '../support/authorize.js';
import { startDocumentServer, type DocumentServer } from '../support/client-documents.js';
import { addConnection } from '../support/connections.js';
import { addUser, type TestClient } from '../support/data.js';
import { answerDevice, deviceCode, pollDevice, startDevice } from '../support/device.js';
import { link, links, manage, startManagedService, type Api, type Document } from '../support/management.js';
import { allowCode, claimsOf, oauthPost, redeem, tokenRequest, type CodeGrant } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { setEnvironment, signedIn } from '../support/signed-in.js';

/** What comes back under its name: a client by its metadata document, an API resource by its identifier, a permission by its name. */
const kinds = ['client', 'api_resource', 'permission', 'connection', 'role'] as const;
type Kind = (typeof kinds)[number];
/** `gone`: no row holds the name any more; `dead`: rows stay, and what they stand for is refused. */
type Fate = Partial<Record<Kind, 'gone' | 'dead'>>;

/** What becomes of each column that holds names; a text says why there is nothing to end. */
const fates: Readonly<Record<string, Fate | string>> = {
  'access_tokens.client_id': { client: 'dead' },
  'access_tokens.audience': { api_resource: 'dead' },
  'access_tokens.scope': { permission: 'dead' },
  'access_tokens.earlier_scopes': 'only narrows what an exchange gives',
  'api_resources.canonical_identifier': 'the record itself',
  'api_resources.identifier': 'the record itself',
  'api_resources.default_scopes': { permission: 'gone' },
  'api_resources.user_scopes': 'a setting',
  'audit_logs.actor_permissions': 'tells what was',
  'authorization_codes.client_id': { client: 'gone' },
  'authorization_codes.resource': { api_resource: 'gone' },
  'authorization_detail_types.api_resource_id': 'goes with the API resource',
  'authorization_codes.scope': { permission: 'gone' },
  'authorizations.client_id': 'goes with the client',
  'authorizations.resource_scopes': 'tells what was allowed; it gives nothing',
  'backchannel_logouts.client_id': 'a message under way to an address that the row holds',
  'client_assertions.client_id': 'assertions that were used',
  'client_connections.client_id': { client: 'gone' },
  'client_connections.connection_id': { connection: 'gone' },
  'client_grants.client_id': { client: 'gone' },
  'client_grants.api_resource_id': { api_resource: 'gone' },
  'client_grants.scopes': { permission: 'gone' },
  'client_grants.subject_audiences': { api_resource: 'gone' },
  'clients.default_resource': { api_resource: 'gone' },
  'clients.signal_audience': 'none of them: a word of ours',
  'clients.scopes': 'a limit of what it may ask for; it gives nothing',
  'connections.provider_client_id': 'a name at the provider',
  'connections.scopes': 'names at the provider',
  'consents.client_id': { client: 'gone' },
  'consents.resource_scopes': { api_resource: 'gone', permission: 'gone' },
  'consents.resources': { api_resource: 'gone' },
  'consents.scopes': { permission: 'gone' },
  'approvals.client_id': 'goes with the client',
  'approvals.scope': 'what was asked for; what can be approved is in device_codes',
  'device_codes.client_id': { client: 'gone' },
  'device_codes.resource': { api_resource: 'gone' },
  'device_codes.scope': { permission: 'gone' },
  'environments.client_id_metadata_documents': 'a setting',
  'environments.client_id_metadata_hosts': 'a setting',
  'environments.slug': 'the record itself; all that is in one goes with its id',
  'external_servers.audiences': 'names of a server outside',
  'external_servers.resources': 'names of a server outside',
  'external_servers.sign_in_client_id': 'empty without the client',
  'outbound_grants.client_id': 'goes with the client',
  'provider_grants.client_id': 'goes with the client',
  'provider_grants.connection_id': 'goes with the connection',
  'provider_grants.scopes': 'names of a provider outside',
  'provider_tokens.client_id': 'goes with the client',
  'provider_tokens.connection_id': 'goes with the connection',
  'provider_tokens.scopes': 'names of a provider outside',
  'provider_token_revocations.connection_id': 'an id, which is never made twice',
  'provider_token_revocations.provider_client_id': 'a name at a provider outside',
  'outbound_grants.external_client_id': 'a name at a server outside',
  'outbound_grants.resources': 'names of a server outside',
  'outbound_grants.role_id': 'goes with the role',
  'outbound_grants.scopes': 'names of a server outside',
  'redeemed_assertions.audience': 'tells what a spent assertion was for',
  'redeemed_assertions.client_id': 'assertions that were used',
  'redeemed_assertions.connection_id': 'an id, which is never made twice',
  'federated_credentials.audience': 'a name at the issuer outside',
  'federated_credentials.client_id': { client: 'gone' },
  'identities.connection_id': { connection: 'gone' },
  'permissions.api_resource_id': { api_resource: 'gone' },
  'pushed_requests.client_id': { client: 'gone' },
  'pushed_requests.parameters': { api_resource: 'gone' },
  'refresh_tokens.client_id': { client: 'dead' },
  'refresh_tokens.resource': { api_resource: 'dead' },
  'refresh_tokens.scope': { permission: 'dead' },
  'registration_tokens.scopes': 'a limit of what its clients may ask for; it gives nothing',
  'request_traces.client_id': 'tells what was',
  'role_permissions.permission_id': { permission: 'gone' },
  'role_permissions.role_id': { role: 'gone' },
  'session_clients.client_id': { client: 'gone' },
  'sessions.device_client_id': { client: 'dead' },
  'signal_streams.client_id': 'goes with the client',
  'signals.client_ids': 'goes to streams, which go with the client',
  'sso_flows.connection_id': 'an id, which is never made twice',
  'transmitter_streams.audience': 'a name at a transmitter outside',
  'transmitter_streams.connection_id': 'an id, which is never made twice',
  'user_roles.role_id': 'a role that somebody holds is not deleted',
  'workload_refusals.client_id': { client: 'gone' },
  'directory_users.resource': 'what the directory said of a person',
  // By foreign keys, with the record that they name; the ids of these records never come back.
  'organization_default_roles.role_id': 'goes with the role',
  'organization_domains.connection_id': 'empty without the connection',
  'organization_group_roles.role_id': 'goes with the role',
  'organization_invitation_roles.role_id': 'goes with the role',
  'organization_invitations.client_id': 'empty without the client',
  'organization_membership_roles.role_id': 'goes with the role',
  'saml_metadata.connection_id': 'goes with the connection',
  'saml_assertions.connection_id': 'goes with the connection',
  'session_organizations.client_id': 'goes with the client',
  'connections.signals_audience': 'what its provider calls us',
  'sessions.connection_ids': 'how a session began, by ids that never come back',
  'sessions.provider_connection_id': 'how a session began, by ids that never come back',
  'provider_sessions.connection_id': 'how a session began, by ids that never come back',
  'received_signals.connection_id': 'what came for it, by an id that never comes back',
  'revocation_feed.client_id': 'what ended, before a moment',
  'setup_links.connection_id': 'empty without the connection',
  'user_imports.actor_permissions': 'the most that it acts with, and its maker has to hold it then too',
};

/** Columns that may hold the name, or the id, of such a record. */
const nameColumns = `select table_name || '.' || column_name as name from information_schema.columns
  join pg_class c on c.relnamespace = 'public'::regnamespace and c.relname = table_name and not c.relispartition
  where table_schema = 'public' and data_type in ('text', 'uuid', 'ARRAY', 'jsonb')
  and column_name ~ '(client_id|resource|identifier|audience|scope|permission|role|connection_id|parameters|slug)'
  and table_name <> 'schema_migrations' order by 1`;

let documents: DocumentServer;
const service = sharedService(async () => {
  documents = await startDocumentServer();
  return startManagedService({}, { overrides: { fetch: documents.fetch } });
});
afterAll(() => documents?.close());
const ctx = contextOf(service);
const api: Api = shared(() => manage(service.url));
/** Reads what it is told about everything. */
const watcher = { id: 'management', client_secret: 'the secret of the management client' };
let browser: Browser;
let user_id: string;

beforeAll(async () => {
  await setEnvironment(service, { client_id_metadata_documents: 'open' });
  const user = await addUser(ctx);
  user_id = user.id;
  browser = await signedIn(service, user);
});

const introspect = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', watcher, { token })).body;
const ok = async (answer: Promise<{ status: number; text: string }>, status: number) => {
  const { status: got, text } = await answer;
  if (got !== status) throw new Error(`${got} ${text}`);
};

/** What somebody holds, or has waiting, of a client at an API resource. */
type Held = {
  client: TestClient;
  resource: Document;
  permission: Document;
  connection_id: string;
  role_id: string;
  scope: string;
  identifier: string;
  code: CodeGrant;
  device_code: string;
  request_uri: string;
  refresh_token: string;
  jwt: string;
  opaque: string;
  asked: Record<string, string>;
};

let count = 0;

/** The client that a document describes, vouched for by an administrator, with all that can hang on a client. */
async function makeClient(): Promise<TestClient> {
  const client = documents.publish(documents.url(`/walked/${++count}.json`));
  await letIn(client);
  return client;
}

/** An administrator registers it. No document may say that it has devices: that is written for the sake of this walk. */
async function letIn({ id }: TestClient): Promise<void> {
  await api.create('clients', { client_id_metadata_uri: id });
  await ctx.db
    .knex('clients')
    .where({ id })
    .update({ grant_types: ['authorization_code', 'refresh_token', deviceCode] });
  ctx.cache.invalidate(ctx.environment.id, 'clients');
}

const makeResource = (identifier: string) =>
  api.create('api_resources', {
    identifier,
    name: 'Walked',
    token_format: 'jwt',
    user_access: 'open',
    allow_unverified_clients: true,
  });
const makePermission = (name: string, resource: Document) =>
  api.create('permissions', { name }, { api_resource: link('api_resource', resource['id'] as string) });
const patch = (type: string, id: string, attributes: Document, relationships: Document = {}) =>
  ok(api.patch(`/${type}s/${encodeURIComponent(id)}`, { data: { type, id, attributes, relationships } }), 200);

/** Grants, a connection and a role that name the client, the resource and the permission. */
async function linked(client: TestClient, resource: Document, permission: Document) {
  const scopes = [permission['attributes'].name as string];
  const connection = await addConnection(ctx, { display_name: 'Walked' });
  await ctx.db.knex('identities').insert({
    environment_id: ctx.environment.id, id: randomUUID(), connection_id: connection.id, subject: 'walked', user_id,
    created_at: ctx.clock.now(), updated_at: ctx.clock.now(),
  }); // prettier-ignore
  await patch('client', client.id, {}, { connections: links('connection', connection.id) });
  const between = { client: link('client', client.id), api_resource: link('api_resource', resource['id'] as string) };
  await api.create('client_grants', { scopes, subject_type: 'user' }, between);
  const identifier = resource['attributes'].identifier as string;
  const service_client = await api.create('clients', { name: 'Service', application_type: 'machine' });
  const exchange = { scopes, subject_type: 'user', token_exchange: 'delegation', subject_audiences: [identifier] };
  await api.create('client_grants', exchange, { ...between, client: link('client', service_client['id'] as string) });
  await ctx.db
    .knex('clients')
    .where({ id: service_client['id'] as string })
    .update({ default_resource: identifier });
  const role = await api.create('roles', { name: `walked ${count}` }, { permissions: links('permission', permission['id'] as string) });
  await patch('api_resource', resource['id'] as string, { default_scopes: scopes });
  const issuer = {
    id: randomUUID(),
    name: 'Walked',
    issuer: `https://issuer.example/${count}`,
    created_at: ctx.clock.now(),
    updated_at: ctx.clock.now(),
  };
  const { environment_id } = ctx.scope;
  await ctx.db.knex('trusted_issuers').insert({ environment_id, ...issuer });
  const { created_at, updated_at } = issuer;
  const proof = { audience: 'walked', claims: '{}', trusted_issuer_id: issuer.id, created_at, updated_at };
  await ctx.db.knex('federated_credentials').insert({ environment_id, id: randomUUID(), client_id: client.id, ...proof });
  const refusal = { reason: 'walked', refused_at: created_at, expires_at: created_at };
  await ctx.db.knex('workload_refusals').insert({ environment_id, id: randomUUID(), client_id: client.id, ...refusal });
  return { connection_id: connection.id, role_id: role['id'] as string };
}

async function hold(): Promise<Held> {
  const client = await makeClient();
  const identifier = `https://walked.example/${randomUUID()}`;
  const scope = `walked:${randomUUID()}`;
  const resource = await makeResource(identifier);
  await makePermission('kept', resource);
  const permission = await makePermission(scope, resource);
  const records = await linked(client, resource, permission);
  const asked = { resource: identifier, scope: `openid kept ${scope}` };
  const device = await startDevice(service.url, client, asked);
  await answerDevice(browser, device.user_code);
  const first = (await redeem(service.url, client, await allowCode(browser, client, asked))).body;
  await patch('api_resource', resource['id'] as string, { token_format: 'opaque' });
  const again = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' };
  const second = (await tokenRequest(service.url, client, again)).body;
  const { challenge } = pkcePair();
  const pushed = await oauthPost(service.url, '/oauth/par', client, {
    ...asked, response_type: 'code', client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', code_challenge: challenge,
    code_challenge_method: 'S256', prompt: 'consent',
  }); // prettier-ignore
  const code = await waitingCode(client, asked);
  return {
    ...records, client, resource, permission, scope, identifier, asked, code,
    device_code: device.device_code,
    request_uri: String(pushed.body['request_uri']),
    refresh_token: second.refresh_token ?? '',
    jwt: first.access_token,
    opaque: second.access_token,
  }; // prettier-ignore
}

const authorizeAgain = (client: TestClient, asked: Record<string, string>, challenge: string) =>
  authorizeGet(browser, new URLSearchParams({
    ...asked, response_type: 'code', client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', state: 's', code_challenge: challenge,
    code_challenge_method: 'S256',
  }).toString()); // prettier-ignore

/** A code that the person's consent gives at once. */
async function waitingCode(client: TestClient, asked: Record<string, string>): Promise<CodeGrant> {
  const { verifier, challenge } = pkcePair();
  const response = await authorizeAgain(client, asked, challenge);
  const code = new URL(response.headers.get('location') ?? 'none:').searchParams.get('code');
  if (code === null) throw new Error(`no code: ${response.status}`);
  return { code, verifier, redirect_uri: client.redirect_uris[0] ?? '' };
}

/** The name, or id, by which rows know the record. */
const namesOf = (kind: Kind, held: Held): string[] =>
  ({
    client: [held.client.id],
    api_resource: [held.identifier, held.resource['id'] as string],
    permission: [held.scope, held.permission['id'] as string],
    connection: [held.connection_id],
    role: [held.role_id],
  })[kind];

async function rowsWith(column: string, names: readonly string[]): Promise<number> {
  const [table = '', name = ''] = column.split('.');
  const found = await ctx.db.knex.raw<{ rows: { count: string }[] }>(
    `select count(*) from ?? where ${names.map(() => 'position(? in (??)::text) > 0').join(' or ')}`,
    [table, ...names.flatMap((one) => [one, name])],
  );
  return Number(found.rows[0]?.count);
}

/** Deletes the record by the Management API, and makes another of its name at once. */
const again: Record<Kind, (held: Held) => Promise<unknown>> = {
  async client({ client }) {
    await ok(api.delete(`/clients/${encodeURIComponent(client.id)}`), 204);
    service.clock.advance(1);
    await letIn(client);
  },
  async api_resource({ resource, identifier, scope }) {
    await ok(api.delete(`/api_resources/${resource['id']}`), 204);
    service.clock.advance(1);
    const made = await makeResource(identifier);
    for (const name of ['kept', scope]) await makePermission(name, made);
  },
  async permission({ permission, scope, resource, client }) {
    await ok(api.delete(`/permissions/${permission['id']}`), 204);
    service.clock.advance(1);
    await makePermission(scope, resource);
    const [grant] = (await api.get(`/client_grants?filter[client]=${encodeURIComponent(client.id)}`)).body['data'] as Document[];
    expect(grant?.['attributes'].scopes).toEqual([]);
    await patch('client_grant', grant?.['id'] as string, { scopes: [scope, 'kept'] });
  },
  async connection({ connection_id }) {
    await ok(api.delete(`/connections/${connection_id}`), 204);
    return addConnection(ctx, { display_name: 'Walked' });
  },
  async role({ role_id, permission }) {
    const { name } = (await api.get(`/roles/${role_id}`)).body['data'].attributes as { name: string };
    await ok(api.delete(`/roles/${role_id}`), 204);
    return api.create('roles', { name }, { permissions: links('permission', permission['id'] as string) });
  },
};

/** What the things that were held are worth now: the words of the scope that they give, or the refusal. */
async function worth({ client, code, device_code, request_uri, refresh_token, jwt, opaque, asked }: Held) {
  const given = ({ status, body }: Awaited<ReturnType<typeof redeem>>) => (status === 200 ? String(body['scope']) : String(body.error));
  const active = (body: Record<string, unknown>) => (body['active'] === true ? String(body['scope']) : 'inactive');
  const answered = async (response: Response) => {
    const { searchParams } = new URL(response.headers.get('location') ?? 'none:');
    return searchParams.has('code')
      ? 'a code'
      : (searchParams.get('error') ?? ((await response.text()).includes('/oauth/consent') ? 'asked' : 'page'));
  };
  const query = new URLSearchParams({ client_id: client.id, request_uri }).toString();
  return {
    jwt: active(await introspect(jwt)),
    opaque: active(await introspect(opaque)),
    'refresh token': given(await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token })),
    code: given(await redeem(service.url, client, code)),
    'device code': given(await pollDevice(service.url, client, device_code)),
    'pushed request': await answered(await authorizeGet(browser, query)),
    consent: await answered(await authorizeAgain(client, asked, pkcePair().challenge)),
  };
}

test('every column that holds names of clients, API resources, permissions, connections or roles has its fate', async () => {
  const { rows } = await ctx.db.knex.raw<{ rows: { name: string }[] }>(nameColumns);
  const found = rows.map(({ name }) => name);
  expect(found.length).toBeGreaterThan(40);
  expect(Object.keys(fates).toSorted(), 'Say in `fates` what becomes of the column when the record is deleted.').toEqual(found.toSorted());
});

describe.each(kinds)('a %s that is deleted, and made again under its name', (kind) => {
  test('leaves no row that names it, and nothing that it gave is worth anything (attack 22.945)', async () => {
    const held = await hold();
    const names = namesOf(kind, held);
    const columns = Object.entries(fates).flatMap(([column, fate]) =>
      typeof fate !== 'string' && fate[kind] ? [{ column, fate: fate[kind] }] : [],
    );
    const empty: string[] = [];
    for (const { column } of columns) if ((await rowsWith(column, names)) === 0) empty.push(column);
    expect(empty, 'The story has to fill these, or nothing is proven of them.').toEqual([]);
    await again[kind](held);
    const left: string[] = [];
    for (const { column, fate } of columns) {
      // What the story made again by hand.
      const remade = kind === 'permission' && column === 'client_grants.scopes' ? 1 : 0;
      if (fate === 'gone' && (await rowsWith(column, names)) > remade) left.push(column);
    }
    expect(left).toEqual([]);
    expect(await worth(held)).toEqual(worthAfter(kind, held));
  });
});

/** What is left of it all, by what was deleted. */
function worthAfter(kind: Kind, { scope }: Held) {
  const whole = `openid kept ${scope}`;
  const less = 'openid kept';
  switch (kind) {
    case 'client':
      return {
        jwt: 'inactive', opaque: 'inactive', 'refresh token': 'invalid_grant', code: 'invalid_grant',
        'device code': 'invalid_grant', 'pushed request': 'page', consent: 'asked',
      }; // prettier-ignore
    case 'api_resource':
      return {
        jwt: 'inactive', opaque: 'inactive', 'refresh token': 'invalid_target', code: 'invalid_grant',
        'device code': 'invalid_grant', 'pushed request': 'page', consent: 'asked',
      }; // prettier-ignore
    case 'permission':
      return {
        jwt: less, opaque: less, 'refresh token': less, code: less, 'device code': less, 'pushed request': 'asked',
        consent: 'asked',
      }; // prettier-ignore
    default:
      return {
        jwt: whole, opaque: whole, 'refresh token': whole, code: whole, 'device code': whole,
        'pushed request': 'asked', consent: 'a code',
      }; // prettier-ignore
  }
}

test('a JWT says its time to the millisecond by its jti', async () => {
  const { jwt } = await hold();
  const { iat, jti } = claimsOf(jwt) as { iat: number; jti: string };
  expect(Math.floor(Number.parseInt(jti.replaceAll('-', '').slice(0, 12), 16) / 1000)).toBe(iat);
});
