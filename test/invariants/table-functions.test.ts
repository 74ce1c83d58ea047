// Two environments with the same rows under the same keys: every function of `src/db/tables`, asked by one of them, comes to no row of the other.
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { sessionBounds } from '../../src/domain/sessions/sessions.js';
import { Dangling, Duplicate } from '../../src/db/connection/failures.js';
import { createScope, scopeOf } from '../../src/db/scope.js';
import { digest } from '../../src/lib/digest.js';
import { manage, startManagedService } from '../support/management.js';
import { oneOfEach } from '../support/one-of-each.js';
import { takeReached } from '../support/row-guard.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { tableFunctions, type TableFunction } from '../support/table-functions.js';

const service = sharedService(startManagedService);
const own = contextOf(service);
const mirror_id = randomUUID();

type Row = Record<string, unknown>;
/** A row of each table of `own`; the mirror has one under the same key. */
const rows: Record<string, Row> = {};
const row = (table: string): Row => rows[table] ?? {};
/** Columns, `table.column`, by what inserting a row has to know of them. */
const json = new Set<string>();
const generated = new Set<string>();
const now = new Date();
const soon = new Date(now.getTime() + 600_000);

/** What the checks of a table want, where a column's type alone doesn't say. */
const wanted: Record<string, Row> = {
  approvals: { user_id: undefined },
  authenticators: { kind: 'recovery_codes', secret_sealed: digest('secret') },
  configurations: { actor_kind: 'system', records: [{ type: 'client', id: 'one', key: 'one', attributes: {} }] },
  deleted_names: { kind: 'client' },
  passcodes: { purpose: 'sign_in', email: 'one@example.com', email_key: 'one@example.com' },
  sign_ins: { stage: 'verify', proofs: [] },
  authorization_codes: { access_token_format: 'jwt' },
  saml_certificates: { status: 'previous' },
  setup_links: { sections: ['domains'] },
};

/** Tables that columns name by less than their whole name. */
const tableOfId: Record<string, string> = {
  directory: 'directories',
  membership: 'organization_memberships',
  group: 'organization_groups',
  invitation: 'organization_invitations',
  import: 'user_imports',
};
const referredTo = (column: string) => {
  const noun = column.replace(/_id$/, '');
  return tableOfId[noun] ?? `${noun}s`;
};

/** A value for a column that must have one, by its name and type. */
function valueOf(table: string, column: string, type: string): unknown {
  const given = wanted[table]?.[column] ?? row(referredTo(column))['id'];
  if (given !== undefined) return type === 'jsonb' ? JSON.stringify(given) : given;
  if (type === 'uuid') return randomUUID();
  if (type === 'bytea') return digest(`${table} ${column}`);
  if (type === 'jsonb') return '{}';
  if (type === 'integer' || type === 'bigint') return 1;
  if (type === 'boolean') return false;
  if (type === 'date' || type.startsWith('timestamp')) return soon;
  return type === 'ARRAY' ? [] : 'one';
}

async function fill(table: string): Promise<void> {
  const { rows: columns } = await service.deps.db.knex.raw<{ rows: { name: string; type: string }[] }>(
    `select column_name as name, data_type as type from information_schema.columns where table_schema = 'public' and table_name = ?
     and (is_nullable = 'NO' and column_default is null or column_name = any (?))`,
    [table, Object.keys(wanted[table] ?? {})],
  );
  const made = Object.fromEntries(columns.map(({ name, type }) => [name, valueOf(table, name, type)]));
  await service.deps.db.knex(table).insert({ ...made, environment_id: own.environment.id });
}

/** A second environment of the same rows. */
async function copy(table: string): Promise<void> {
  const names = Object.keys(toStore(table))
    .map((name) => `"${name}"`)
    .join(', ');
  // Triggers have made some of them already.
  await service.deps.db.knex.raw(
    `insert into ?? (${names}) select ${names} from (
       select (jsonb_populate_record(null::??, to_jsonb(t) || jsonb_build_object('environment_id', ?::text))).* from ?? t where environment_id = ?
     ) copied on conflict do nothing`,
    [table, table, mirror_id, table, own.environment.id],
  );
}

/** Repeats for those that are left as long as something works: rows wait for those that they refer to. */
async function forAll(tables: readonly string[], work: (table: string) => Promise<void>): Promise<void> {
  let left = tables;
  while (left.length > 0) {
    const failures: [string, unknown][] = [];
    for (const table of left) await work(table).catch((error: unknown) => failures.push([table, error]));
    if (failures.length === left.length)
      throw new Error(failures.map(([table, error]) => `${table}: ${(error as Error).message}`).join('\n'));
    left = failures.map(([table]) => table);
  }
}

const stored = async (table: string) =>
  (await service.deps.db.knex(table).where({ environment_id: own.environment.id }).first()) as Row | undefined;

beforeAll(async () => {
  await oneOfEach(service, await manage(service.url));
  const { rows: columns } = await service.deps.db.knex.raw<{ rows: { table: string; name: string; type: string; is_generated: string }[] }>(
    `select table_name as table, column_name as name, data_type as type, is_generated from information_schema.columns where table_schema = 'public' order by 1`,
  );
  for (const { table, name, type, is_generated } of columns) {
    if (type.startsWith('json')) json.add(`${table}.${name}`);
    if (is_generated === 'ALWAYS') generated.add(`${table}.${name}`);
  }
  const tables = columns.filter(({ name }) => name === 'environment_id').map(({ table }) => table);
  await forAll(tables, async (table) => {
    if ((await stored(table)) === undefined) await fill(table);
    rows[table] = (await stored(table)) as Row;
  });
  rows['environments'] = (await service.deps.db.knex('environments').where({ id: own.environment.id }).first()) as Row;
  const second = { id: mirror_id, slug: 'mirror', name: 'Mirror', kind: 'staging', created_at: now, updated_at: now };
  await service.deps.db.knex('environments').insert(second);
  await forAll(tables, copy);
});

/** Answers to parameters that mean the same everywhere. */
const usual = (): Row => ({
  at: now, since: new Date(0), updated_at: now, expires_at: soon, locked_until: soon, until: soon, issuer_until: soon, window: soon,
  limit: 10, most: 10, threshold: 3, max_attempts: 3, max_total: 9, seconds: 600, step: 7, lifetime: 60, subscribers: [],
  session_bounds: sessionBounds(own), bounds: sessionBounds(own), ...sessionBounds(own),
  identifier: row('api_resources')['identifier'], canonical: row('api_resources')['identifier'], resource: row('api_resources')['identifier'],
  names: [row('permissions')['name']], permissions: [row('permissions')['name']],
  issuer: 'https://idp.example', issuers: ['https://idp.example'], algorithm: 'RS256', signing_alg: 'RS256',
  email_key: row('users')['email_key'], viewer_id: row('users')['id'], guesser: row('user_code_guesses')['guesser_digest'],
  proof: null, extras: 'user', end: 'right', change: {}, held: [], all: [], error: null, response_status: null, locked: false, proven: null,
  jti: randomUUID(), event_id: randomUUID(), grant_type: 'client_credentials', audience: 'one', jkt: null,
  bound: { jkt: null, refresh_jkt: null, proof: null }, ends: { refresh_expires_at: soon, grant_expires_at: soon },
}); // prettier-ignore

/** By name, of a row of the function's own table, of the table that an id names, or what it means everywhere. */
function argumentOf(module: string, parameter: string): unknown {
  const mine = row(module);
  if (parameter === 'row') {
    const { environment_id: _, ...stored } = toStore(module);
    return stored;
  }
  if (parameter === 'rows') return [argumentOf(module, 'row')];
  if (parameter === 'changes') return { updated_at: now };
  if (parameter in mine) return mine[parameter];
  const several = /^(\w+)s$/.exec(parameter)?.[1];
  if (several !== undefined && several in mine) return [mine[several]];
  const table = /^(\w+)_ids?$/.exec(parameter)?.[1];
  const id = table === undefined ? undefined : row(referredTo(table))['id'];
  if (id !== undefined) return parameter.endsWith('s') ? [id] : id;
  return usual()[parameter];
}

/** The row as one inserts it, of another key where it is an id. */
const toStore = (table: string): Row =>
  Object.fromEntries(
    Object.entries(row(table)).flatMap(([name, value]) => {
      if (generated.has(`${table}.${name}`)) return [];
      return [[name, json.has(`${table}.${name}`) && value !== null ? JSON.stringify(value) : value]];
    }),
  );

/** Whatever a function may take from an object that it is handed. */
const bag = (module: string): Row => ({ ...usual(), ...row(module) });

/** Where neither name nor table says what is meant. */
const special: Record<string, () => unknown[]> = {
  'provider_sessions.listSessionsThrough': () => [{ connection_id: row('connections')['id'], subject: 'one', sid: null }, soon],
  'revocations.endRedeemedAt': () => [{ ...row('api_resources'), assertion_access: 'off' }],
  'revocations.endRedeemedOfSubject': () => [row('connections')['id'], 'one', soon],
  'revocation_feed.readRevocations': () => [{ at: '0', id: null }, new Date(0), 100],
  'access_tokens.findProvenAccessToken': () => [row('access_tokens')['digest'], [], proof],
  'access_tokens.findProvenJwtStatus': () => [jwt(), proof],
  'access_tokens.findJwtStatus': () => [jwt(), 'user'],
  'token_states.findTokenStates': () => [[{ digest: row('access_tokens')['digest'] }, jwt()]],
  'audit_logs.listSignInsOfUser': () => [row('audit_logs')['target_id'], 9],
  'audit_logs.listActivity': () => [
    { party: row('audit_logs')['target_id'], is_organization: false, at: null, id: null, newer: false, limit: 9 },
  ],
  'audit_logs.listChangesSince': () => [{ since: new Date(0), ids: [row('audit_logs')['target_id']], without: '', limit: 9 }],
  'attention.listTroubledDomains': () => [now],
  'authenticators.updateAuthenticator': () => [ofUser('authenticators'), { updated_at: now }],
  'authenticators.deleteAuthenticator': () => [ofUser('authenticators')],
  'authenticators.deleteAuthenticatorsOfUser': () => [{ user_id: row('users')['id'] }],
  'authorizations.setBlocked': () => [row('authorizations'), { by: 'person', at: now }, now],
  'authorizations.endActing': () => [row('authorizations'), now, now],
  'authorizations.holdUnused': () => [row('authorizations'), now],
  'authorization_codes.deleteAuthorizationCodes': () => [{ client_id: row('authorization_codes')['client_id'] }],
  'client_grants.widenSystemGrants': () => [row('client_grants')['api_resource_id'], { held: ['read'], all: ['read', 'write'], at: now }],
  'client_tokens.insertClientAccessToken': () => [{ ...bag('access_tokens'), issued_at: now }],
  // Of an event that has no place in the feed yet, none can be said.
  'events.readFeed': () => [{ ...bag('events'), position: 'oldest' }],
  'events.storeEvents': () => [
    [{ id: randomUUID(), event_type: 'user.created', occurred_at: now, body: '{}', subscribers: [row('webhooks')['id']] }],
  ],
  'names.listNames': () => [
    {
      user: [row('users')['id']],
      client: [row('clients')['id']],
      connection: [row('connections')['id']],
      webhook: [row('webhooks')['id']],
    },
  ],
  'configurations.findManaged': () => ['client', ['one']],
  'custom_domains.noteDomainLookup': () => [row('custom_domains')['id'], { last_checked_at: now }],
  'roles.addRolesOfUsers': () => [[{ user_id: row('users')['id'], role_id: row('roles')['id'] }]],
  'user_imports.findImportChunk': () => [row('user_imports')['id'], 1],
  'user_imports.findImportKeys': () => [row('user_imports')['id'], ['key']],
  'user_imports.insertImportKeys': () => [row('user_imports')['id'], ['key']],
  'user_imports.insertImportErrors': () => [[row('user_import_errors')]],
  'users.listUsersAfter': () => [null, 9],
  'webhook_deliveries.countRedeliveries': () => [row('webhooks')['id'], [new Date(0), now], 10],
  'delivery_figures.listLastDurations': () => [[row('webhook_deliveries')['id']]],
  'dependents.countDependents': () => ['api_resources', row('api_resources')['id'], sessionBounds(own)],
  'approvals.findHintedPerson': () => [{ user_id: row('approvals')['user_id'] }, row('approvals')['client_id'], now],
  'approvals.insertApproval': () => [
    {
      ...row('approvals'),
      digest: digest('next'),
      resource: null,
      organization: null,
      interval_seconds: 5,
      request_id: null,
      mail: row('mails'),
      events: [],
    },
  ],
  'approvals.noteDecision': () => [row('approvals')['id'], { decision: 'refused', muted: false, acr: null }, now],
  'approvals.endApprovals': () => [{ id: row('approvals')['id'] }, now],
  'device_codes.deleteDeviceCodes': () => [{ client_id: row('device_codes')['client_id'] }],
  'devices.deleteDevices': () => [{ user_id: row('devices')['user_id'] }],
  'directories.rotateDirectoryToken': () => [
    row('directories')['id'],
    { token_digest: digest('next'), token_hint: 'next', previous_token_expires_at: soon, updated_at: now },
  ],
  'directory_users.findDirectoryUsers': () => [row('directories')['id'], null, { offset: 0, limit: 9 }],
  'organization_groups.findGroups': () => [row('directories')['id'], null, { offset: 0, limit: 9 }],
  'document_clients.verifyListedHosts': () => [['one.example'], now],
  'environments.storeBaseUrlIssuerUntil': () => [soon],
  'identities.updateIdentity': () => [{ id: row('identities')['id'] }, { email: 'other@example.com' }],
  'identities.voidIdentitiesOfUser': () => [row('identities')['user_id'], null],
  'issued_assertions.findIdTokenSubject': () => [ofSession(), sessionBounds(own)],
  'issued_assertions.storeIssuedAssertion': () => [
    {
      audit: row('audit_logs'),
      user_id: row('authorizations')['user_id'],
      client_id: row('authorizations')['client_id'],
      now: soon,
      refresh: { digest: row('refresh_tokens')['digest'], expires_at: soon },
      proof: null,
    },
  ],
  'outbound_grants.listFittingOutboundGrants': () => [
    [row('outbound_grants')['id']],
    { user_id: row('users')['id'], organization_id: null },
  ],
  'provider_tokens.handOutProviderToken': () => [
    {
      client_id: row('provider_tokens')['client_id'],
      connection_id: row('provider_tokens')['connection_id'],
      user_id: row('provider_tokens')['user_id'],
      scopes: null,
      first_party: true,
      client_digest: null,
      now,
      fresh_until: now,
      audit: row('audit_logs'),
      refresh: null,
      proof: null,
    },
  ],
  'redeemed_assertions.findAssertedIdentity': () => [row('identities')['connection_id'], row('identities')['subject'], null],
  'redeemed_assertions.redeemAssertion': () => [redemption()],
  'consents.addConsent': () => [bag('consents'), null],
  'refresh_tokens.findRefreshToken': () => [
    { id: row('refresh_tokens')['id'], generation: row('refresh_tokens')['generation'] },
    sessionBounds(own),
  ],
  'refreshes.useRefreshToken': () => [
    {
      use: {
        row: { id: row('refresh_tokens')['id'], generation: row('refresh_tokens')['generation'] },
        successor: { id: row('refresh_tokens')['id'], digest: digest('next') },
        next_expires_at: soon,
      },
      now,
      jti: randomUUID(),
      access_token_format: 'opaque',
      access_token_digest: digest('access'),
      access_token_lifetime: 60,
      scope: 'openid',
      audience: 'https://api.example',
      authorization_details: null,
      event_id: randomUUID(),
      subscribers: [],
      bound: { jkt: null, refresh_jkt: null, proof: null },
    },
  ],
  'revocations.revokeGrant': () => [
    {
      grant_id: row('refresh_tokens')['grant_id'],
      user_id: row('users')['id'],
      client_id: row('clients')['id'],
      session_id: row('sessions')['id'],
    },
    new Date(Date.now() + 86_400_000),
  ],
  'log_streams.rotateLogStreamSecret': () => [row('log_streams')['id'], nextSecret('log_streams')],
  'passcode_budgets.noteHalfUsed': () => [1, now],
  'passcodes.consumePasscode': () => [row('passcodes'), now, null],
  'passcodes.findBoundPasscode': () => [{ purpose: 'sign_in', user_id: row('users')['id'], bound_digest: digest('bound') }, now],
  'permissions.listDescribedScopes': () => [[row('api_resources')['identifier']]],
  'reach.listReachOfApiResource': () => [row('api_resources')['id'], { exchanges: true }],
  'recovery_codes.insertRecoveryCodes': () => [row('recovery_codes')['authenticator_id'], [digest('another')]],
  'revocations.revokeGrants': () => [{ client_id: row('refresh_tokens')['client_id'] }, soon],
  'roles.touchRecord': () => ['roles', row('roles')['id'], now],
  'sessions.revokeSessions': () => [{ user_id: row('sessions')['user_id'] }, now, 'revoked'],
  'sign_ins.deleteSignIns': () => [{ user_id: row('sign_ins')['user_id'] }],
  'webhook_deliveries.insertDelivery': () => [{ ...toStore('webhook_deliveries'), at: now }],
  'webhooks.rotateWebhookSecret': () => [row('webhooks')['id'], nextSecret('webhooks')],
};

const proof = { use: { digest: digest('proof'), expires_at: soon }, jkt: 'one' };
const jwt = () => ({
  ids: [randomUUID()],
  user_id: row('users')['id'],
  session_id: row('sessions')['id'],
  resource: row('api_resources')['identifier'],
});
const ofSession = () => ({ user_id: row('users')['id'], session_id: row('sessions')['id'], organization_id: null, issued_at: now });
const redemption = () => ({
  ...bag('redeemed_assertions'), generation: row('identities')['generation'], identity_id: row('identities')['id'], connection_id: row('identities')['connection_id'],
  again: true, token_digest: digest('redeemed'), user_id: row('identities')['user_id'], organization_id: null, scopes: ['read'], held_only: false, acr: '1', amr: [],
  auth_time: null, issued_at: now, audit: row('audit_logs'),
}); // prettier-ignore
const ofUser = (table: string) => ({ id: row(table)['id'], user_id: row(table)['user_id'] });
const nextSecret = (table: string) => ({
  secret_sealed: row(table)['secret_sealed'], secret_hint: row(table)['secret_hint'], at: now, previous_secret_expires_at: soon,
}); // prettier-ignore

function argumentsFor({ module, name, parameters }: TableFunction): unknown[] {
  const given = special[`${module}.${name}`];
  if (given) return given();
  return parameters.map((parameter) => {
    const value = parameter === '{' ? bag(module) : argumentOf(module, parameter);
    return value === undefined ? bag(module) : value;
  });
}

/** What a call that works may end in: the row is there already. */
const expected = (error: unknown) => error instanceof Duplicate || error instanceof Dangling;

/** Calls it in a transaction of the environment, which is taken back. @returns what hinders the call, or null */
async function attempt({ module, name, parameters, call }: TableFunction, environment_id: string): Promise<string | null> {
  const knex = await createScope(service.deps.db.knex, environment_id).knex.transaction();
  try {
    await call(scopeOf({ ...own.scope, knex, batchers: undefined }, environment_id), ...argumentsFor({ module, name, parameters, call }));
    return null;
  } catch (error) {
    return expected(error) ? null : `${module}.${name}(${parameters.join(', ')}): ${(error as Error).message.slice(-200)}`;
  } finally {
    await knex.rollback();
  }
}

// Of two rows alike, whichever is read first: hence both environments ask.
test('every table function, asked by either of two environments that are alike, comes to no row of the other', async () => {
  const functions = await tableFunctions();
  const broken: string[] = [];
  const reached: string[] = [];
  for (const one of functions) {
    const hindered = [await attempt(one, own.environment.id), await attempt(one, mirror_id)];
    const rows_reached = takeReached();
    if (rows_reached.length > 0) reached.push(`${one.module}.${one.name}: ${rows_reached.join('; ')}`);
    else broken.push(...hindered.filter((reason) => reason !== null));
  }
  expect(reached).toEqual([]);
  expect(broken, 'Where a column is missing, its migration lacks it. Else say in `special` what these are called with.').toEqual([]);
  expect(functions.length).toBeGreaterThan(297);
});
