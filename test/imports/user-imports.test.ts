// Imports of users at the Management API: rows, what becomes of them, and who may bring them.
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { userImportPass } from '../../src/process/user-imports.js';
import { Browser } from '../support/browser.js';
import { apiResourceOf } from '../../src/domain/clients/clients.js';
import { findUserImport, type UserImportRow } from '../../src/db/tables/user_imports.js';
import { previewImport } from '../../src/management/imports/preview.js';
import { permit } from '../support/administrators.js';
import { costOf, mostHeld } from '../support/cost/event-loop.js';
import { addGrant, addMachine, addUser } from '../support/data.js';
import { imported, ndjson, runImports, sendData } from '../support/imports.js';
import { Api, manage, managementClient, managementToken, secondEnvironment, type Document } from '../support/management.js';
import { firebaseKey, formatSamples } from '../support/password-hashes.js';
import { startReceiver } from '../support/receiver.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
let api: Api;
beforeAll(async () => void (api = await manage(service.url)));

let number = 0;
const email = () => `row-${++number}@example.com`;
const userOf = (address: string) => findUserByEmailKey(ctx.scope, address);
const login = async (address: string, password: string) =>
  (await new Browser(service.url).postJson('/login', { email: address, password })).status;
const only = async (scope: string) => new Api(service.url, await managementToken(service.url, managementClient, { scope }));
const begun = (attributes: Document = {}, by = api) => by.create('user_imports', { mode: 'create', ...attributes });
const codeOf = ({ status, body }: { status: number; body: Document }) => [status, body['errors']?.[0]?.code];

describe('rows', () => {
  test.each(formatSamples)(
    'a person from $name signs in with the password of before, and is hashed anew (specification 18.1.1)',
    async (sample) => {
      const address = email();
      const job = await imported(service, api, [{ email: address, password_hash: sample.hash }], { hash_parameters: firebaseKey });
      expect(job).toMatchObject({ status: 'succeeded', created_count: 1, failed_count: 0 });
      expect(await login(address, `${sample.password}!`)).toBe(401);
      expect(await login(address, sample.password)).toBe(200);
      expect((await userOf(address))?.password_hash).not.toBe(sample.hash);
      expect((await userOf(address))?.password_hash).toMatch(/^\$argon2id\$/);
      expect(await login(address, sample.password)).toBe(200);
    },
  );

  test('become users with roles, accounts at connections, and a block (specification 18.2.4)', async () => {
    const role = await api.create('roles', { name: 'clerk' });
    await api.create('connections', {
      name: 'google', display_name: 'G', strategy: 'oidc', provider_client_id: 'x', issuer: 'https://idp.example',
    }); // prettier-ignore
    const [full, blocked] = [email(), email()];
    const job = await imported(service, api, [
      {
        email: full,
        first_name: 'Ada',
        metadata: { plan: 'pro' },
        roles: ['clerk'],
        identities: [{ connection: 'google', subject: 's-1' }],
      },
      { email: blocked, status: 'blocked' },
    ]);
    expect(job).toMatchObject({ status: 'succeeded', row_count: 2, created_count: 2 });
    const user = (await api.get(`/users?filter[email]=${full}&include=roles,identities`)).body;
    expect(user['data'][0].attributes).toMatchObject({ first_name: 'Ada', metadata: { plan: 'pro' } });
    expect((user['included'] as Document[]).map(({ type, id, attributes }) => (type === 'role' ? id : attributes.subject)).sort()).toEqual(
      [role['id'], 's-1'].sort(),
    );
    expect((await userOf(blocked))?.status).toBe('blocked');
    const taken = await imported(service, api, [{ email: email(), identities: [{ connection: 'google', subject: 's-1' }] }]);
    expect(taken).toMatchObject({ status: 'failed', errors: [[1, 'already_exists', '/identities/0/subject']] });
  });

  test('each leaves an entry in the audit log; events are stored only if asked for (specification 18.2.6)', async () => {
    const [quiet, loud] = [email(), email()];
    await api.create('webhooks', { name: 'Listener', url: 'http://127.0.0.1:49151/', events: ['user.created'] });
    await imported(service, api, [{ email: quiet }]);
    await imported(service, api, [{ email: loud }], { emit_events: true });
    const logged = async (address: string) =>
      (await api.get(`/audit_logs?filter[target]=${(await userOf(address))?.id}`)).body['data'].map(
        ({ attributes }: Document) => attributes.action,
      );
    expect(await logged(quiet)).toEqual(['user.created']);
    expect(await logged(loud)).toEqual(['user.created']);
    const bodies = (await ctx.db.knex('events').where({ event_type: 'user.created' }).pluck('body')).join('');
    expect(bodies).toContain(loud);
    expect(bodies).not.toContain(quiet);
  });

  test('that are wrong are told with line, code and place; the others are taken (specification 18.2.7)', async () => {
    const [good, again, known] = [email(), email(), (await addUser(ctx)).email];
    await imported(service, api, [{ email: email(), external_id: 'ext-1' }]);
    const dear = `$2b$15$${'a'.repeat(53)}`;
    const lines = [
      JSON.stringify({ email: good }),
      '{"email": broken',
      '',
      '[1]',
      JSON.stringify({ email: 'nowhere' }),
      JSON.stringify({ email: email(), shoe_size: 43 }),
      JSON.stringify({ email: email(), password: 'in plain text' }),
      JSON.stringify({ email: email(), password_hash: 'md5$x' }),
      JSON.stringify({ email: email(), password_hash: dear }),
      JSON.stringify({ email: email(), roles: ['nobody-knows'] }),
      JSON.stringify({ email: email(), identities: [{ connection: 'unknown', subject: 'x' }] }),
      JSON.stringify({ email: known.toUpperCase() }),
      JSON.stringify({ email: email(), external_id: 'ext-1' }),
      JSON.stringify({ email: email(), metadata: { text: 'x'.repeat(70_000) } }),
      JSON.stringify({ email: again }),
      JSON.stringify({ email: again }),
      JSON.stringify({ email: email(), first_name: 7 }),
      JSON.stringify({ email: email(), password_hash: formatSamples.find(({ name }) => name === 'Firebase')?.hash }),
    ];
    const job = await imported(service, api, lines.join('\n'));
    expect(job).toMatchObject({ status: 'partial', row_count: 17, created_count: 2, failed_count: 15, unchanged_count: 0 });
    expect(job['errors']).toEqual([
      [2, 'malformed_document', ''],
      [4, 'malformed_document', ''],
      [5, 'invalid_email', '/email'],
      [6, 'unknown_attribute', '/shoe_size'],
      [7, 'unknown_attribute', '/password'],
      [8, 'unsupported_hash', '/password_hash'],
      [9, 'hash_too_expensive', '/password_hash'],
      [10, 'related_not_found', '/roles/0'],
      [11, 'related_not_found', '/identities/0/connection'],
      [12, 'already_exists', '/email'],
      [13, 'already_exists', '/external_id'],
      [14, 'malformed_document', ''],
      [16, 'already_exists', '/email'],
      [17, 'invalid_type', '/first_name'],
      [18, 'unsupported_hash', '/password_hash'],
    ]);
    expect(await ctx.db.knex('user_import_chunks').count('* as n')).toEqual([{ n: 0 }]);
  });

  test('with names of thousands of characters are told in a hundred (specification 18.2.7, attack 50.1500)', async () => {
    const name = '😀'.repeat(15_000);
    const rows = [{ [name]: 1 }, { [`x${name}`]: 2 }, { metadata: { [name]: 'long'.repeat(300) } }];
    const job = await imported(
      service,
      api,
      rows.map((row) => ({ email: email(), ...row })),
    );
    expect(job['errors']).toEqual([
      [1, 'unknown_attribute', `/${'😀'.repeat(49)}…`],
      [2, 'unknown_attribute', `/x${'😀'.repeat(48)}…`],
      [3, 'too_long', `/metadata/${'😀'.repeat(44)}…`],
    ]);
    const kept = await ctx.db.knex('user_import_errors').where({ import_id: job['id'] });
    for (const { pointer, detail } of kept) expect([pointer.length <= 100, detail.length <= 500]).toEqual([true, true]);
  });

  test('prove no address unless the import says so of all of them (specification 18.2.5, attack 50.1462)', async () => {
    const [one, other] = [email(), email()];
    await imported(service, api, [{ email: one, email_verified: true }]);
    await imported(service, api, [{ email: other, email_verified: true }], { addresses_proven: true });
    expect([(await userOf(one))?.email_verified, (await userOf(other))?.email_verified]).toEqual([false, true]);
  });

  test('of a dry run change nothing, and are counted and refused as they would be (specification 18.2.8)', async () => {
    const [fresh, known] = [email(), (await addUser(ctx)).email];
    const job = await imported(service, api, [{ email: fresh }, { email: known }, { email: 'nowhere' }], { dry_run: true });
    expect(job).toMatchObject({ status: 'partial', created_count: 1, failed_count: 2, errors: [[2, 'already_exists', '/email'], [3, 'invalid_email', '/email']] }); // prettier-ignore
    expect(await userOf(fresh)).toBeNull();
  });

  test.each([
    ['a dry run', { dry_run: true }],
    ['an import', {}],
    ['an upsert', { mode: 'upsert' }],
    ['a dry run of an upsert', { mode: 'upsert', dry_run: true }],
  ])(
    'of %s that have what an earlier one has are refused, in the same batch or a later one (specification 18.2.14, attack 50.1478)',
    async (_what, how) => {
      const name = `twice-${++number}`;
      await api.create('connections', {
      name, display_name: 'G', strategy: 'oidc', provider_client_id: 'x', issuer: `https://${name}.example`,
    }); // prettier-ignore
      const [first, known] = [email(), (await addUser(ctx)).email];
      const account = { connection: name, subject: 's' };
      const rows: Document[] = [
        { email: first, external_id: name, identities: [account] },
        { email: email(), roles: ['nobody-knows'], external_id: `${name}-free` },
        { email: email(), identities: [account] },
        {
          email: email(),
          identities: [
            { ...account, subject: 'own' },
            { ...account, subject: 'own' },
          ],
        },
      ];
      if ('mode' in how) rows.push({ email: known, first_name: 'A' }, { email: known, first_name: 'B' });
      while (rows.length < 500) rows.push({ email: email() });
      const later = [{ email: first.toUpperCase() }, { email: email(), external_id: name }, { email: email(), identities: [account] }, { email: email(), external_id: `${name}-free` }]; // prettier-ignore
      const job = await imported(service, api, [...rows, ...later], how);
      const errors = job['errors'] as [number, string, string][];
      expect(errors.filter(([line]) => line !== 2).map(([line, code]) => `${line} ${code}`)).toEqual(
        [3, 4, ...('mode' in how ? [6] : []), 501, 502, 503].map((line) => `${line} already_exists`),
      );
      expect(errors.filter(([line]) => line > 500).map(([, , pointer]) => pointer)).toEqual([
        '/email',
        '/external_id',
        '/identities/0/subject',
      ]);
      expect(job['row_count'] - job['failed_count']).toBe(job['created_count'] + job['updated_count']);
      expect(await ctx.db.knex('user_import_keys').count('* as n')).toEqual([{ n: 0 }]);
    },
  );

  test('of an upsert change what differs, and leave what is so already (specification 18.2.9)', async () => {
    const [same, other, fresh] = [email(), email(), email()];
    await imported(service, api, [
      { email: same, first_name: 'A' },
      { email: other, first_name: 'B', password_hash: formatSamples[3]!.hash },
    ]);
    const hash = formatSamples[1]!;
    const rows = [
      { email: same.toUpperCase(), first_name: 'A' },
      { email: other, first_name: 'C', password_hash: hash.hash },
      { email: fresh },
    ];
    const job = await imported(service, api, rows, { mode: 'upsert' });
    expect(job).toMatchObject({ status: 'succeeded', created_count: 1, updated_count: 1, unchanged_count: 1 });
    expect((await userOf(other))?.first_name).toBe('C');
    expect(await login(other, hash.password)).toBe(200);
  });

  test('of an upsert replace no password that somebody has signed in with here (attack 50.1463)', async () => {
    const address = email();
    const own = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
    await addUser(ctx, { email: address, email_key: address, password_hash: own });
    const job = await imported(service, api, [{ email: address, password_hash: formatSamples[3]!.hash }], { mode: 'upsert' });
    expect(job).toMatchObject({ status: 'succeeded', unchanged_count: 1, updated_count: 0 });
    expect((await userOf(address))?.password_hash).toBe(own);
  });
});

test('an upsert gives nobody back a way in that the first proof of the address has ended (attack 50.1476)', async () => {
  const address = email();
  const { hash, password } = formatSamples[3]!;
  await imported(service, api, [{ email: address, password_hash: hash }]);
  const { id } = (await userOf(address))!;
  await api.update('users', id, { email_verified: true });
  const job = await imported(service, api, [{ email: address, password_hash: hash, pending_migration: true }], { mode: 'upsert' });
  expect(job).toMatchObject({ unchanged_count: 1 });
  expect(await userOf(address)).toMatchObject({ password_hash: null, pending_migration: false });
  expect(await login(address, password)).toBe(401);
});

describe('the file', () => {
  test('goes on where it broke off, in parts, plain or gzip (specification 18.2.2)', async () => {
    const rows = Array.from({ length: 3 }, () => ({ email: email() }));
    for (const [file, coding] of [
      [Buffer.from(ndjson(rows)), {}],
      [gzipSync(ndjson(rows)), { 'content-encoding': 'gzip' }],
    ] as const) {
      // prettier-ignore
      const { id } = await begun({ mode: 'upsert' });
      const part = (from: number, to: number, total = file.length) =>
        sendData(api, id, file.subarray(from, to), { ...coding, 'content-range': `bytes ${from}-${to - 1}/${total}` });
      expect((await part(0, 20)).body['data'].attributes).toMatchObject({ status: 'awaiting_data', received_bytes: 20 });
      // The answer was lost, and the part comes again; then a gap; then another length.
      const again = await part(0, 20);
      expect([...codeOf(again), again.body['errors'][0].meta.received_bytes]).toEqual([409, 'wrong_range', 20]);
      expect(codeOf(await part(21, file.length))).toEqual([409, 'wrong_range']);
      expect(codeOf(await part(20, file.length, file.length + 1))).toEqual([409, 'wrong_range']);
      expect((await part(20, file.length)).body['data'].attributes.status).toBe('queued');
      expect(codeOf(await part(0, 20))).toEqual([409, 'invalid_transition']);
      await runImports(service);
      expect((await api.get(`/user_imports/${id}`)).body['data'].attributes).toMatchObject({
        status: 'succeeded',
        row_count: 3,
        failed_count: 0,
      });
    }
  });

  test.each([
    ['another type', { 'content-type': 'application/json' }, [415, 'unsupported_media_type']],
    ['another coding', { 'content-encoding': 'br' }, [415, 'unsupported_content_encoding']],
    ['a range that is none', { 'content-range': 'bytes 0-' }, [400, 'invalid_range']],
    ['a range of another length', { 'content-range': 'bytes 0-999/1000' }, [400, 'invalid_range']],
    ['a file beyond a gibibyte', { 'content-range': 'bytes 0-3/1073741825' }, [409, 'wrong_range']],
  ])('with %s is refused', async (_what, headers, refusal) => {
    const { id } = await begun();
    expect(codeOf(await sendData(api, id, '{}\n\n', headers))).toEqual(refusal);
    expect(codeOf(await sendData(api, id, ''))).toEqual([400, 'malformed_document']);
    await api.patch(`/user_imports/${id}/cancel`);
  });

  test('that is no gzip, or goes on without an end, fails as a whole (attack 50.1464)', async () => {
    const { id } = await begun();
    await sendData(api, id, 'plain text', { 'content-encoding': 'gzip' });
    await runImports(service);
    const { attributes } = (await api.get(`/user_imports/${id}`)).body['data'];
    expect(attributes).toMatchObject({ status: 'failed', created_count: 0 });
    expect(attributes.error).toContain('gzip');
  });

  test('is fetched from where the import says, in parts, but not from where nobody should ask (specification 18.2.3, attack 50.1465)', async () => {
    const file = ndjson([{ email: email() }, { email: email() }]);
    const receiver = await startReceiver();
    try {
      receiver.reply((_post, res) => res.writeHead(206, { 'content-range': `bytes 0-${file.length - 1}/${file.length}` }).end(file));
      const { id } = await begun({ source_url: `${receiver.url}/users.ndjson` });
      await runImports(service);
      expect((await api.get(`/user_imports/${id}`)).body['data'].attributes).toMatchObject({ status: 'succeeded', created_count: 2 });
      receiver.reply(404);
      const gone = await begun({ source_url: `${receiver.url}/users.ndjson` });
      await runImports(service);
      expect((await api.get(`/user_imports/${gone['id']}`)).body['data'].attributes).toMatchObject({ status: 'failed' });
    } finally {
      await receiver.close();
    }
    const hidden = await api.attempt('user_imports', { mode: 'create', source_url: 'http://169.254.169.254/x' });
    expect(codeOf(hidden)).toEqual([422, 'url_address']);
  });

  test('is worked off once, from where a process that died left it (specification 18.2.10)', async () => {
    const rows = Array.from({ length: 1_200 }, () => ({ email: email() }));
    const { id } = await begun();
    await sendData(api, id, ndjson(rows));
    const abort = new AbortController();
    // It stops after the first batch, and holds its lease, as one that was killed would.
    const progress = async () => (await api.get(`/user_imports/${id}`)).body['data'].attributes;
    const pass = userImportPass(service.deps, abort.signal);
    while ((await progress()).row_count === 0);
    abort.abort();
    await pass;
    await ctx.db
      .knex('user_imports')
      .where({ id })
      .update({ leased_until: new Date(service.clock.now().getTime() + 60_000) });
    expect(await userImportPass(service.deps)).toBe('done');
    service.clock.advance(61_000);
    await runImports(service);
    expect(await progress()).toMatchObject({ status: 'succeeded', row_count: 1_200, created_count: 1_200, failed_count: 0 });
  });
});

describe('who', () => {
  test('makes an import holds users:write too, and gives nobody what they don’t hold (attack 50.1466)', async () => {
    const narrow = await only('user_imports:write user_imports:read');
    const refused = await narrow.attempt('user_imports', { mode: 'create' });
    expect([...codeOf(refused), refused.body['errors'][0].meta.required]).toEqual([403, 'scope_escalation', ['users:write']]);
    const [writer, granter] = [await only('user_imports:write user_imports:read users:write'), await only('user_imports:write user_imports:read users:write roles:write')]; // prettier-ignore
    const rows = [{ email: email(), roles: ['administrator'] }, { email: email() }];
    expect(await imported(service, writer, rows)).toMatchObject({ status: 'partial', created_count: 1, errors: [[1, 'insufficient_scope', '/roles'], [1, 'scope_escalation', '/roles']] }); // prettier-ignore
    expect(await imported(service, granter, [rows[0]!])).toMatchObject({ status: 'failed', errors: [[1, 'scope_escalation', '/roles']] });
  });

  test('changes a user by an upsert holds what the user may do (attack 50.1467)', async () => {
    const writer = await only('user_imports:write user_imports:read users:write');
    await api.create('connections', {
      name: 'upsert', display_name: 'U', strategy: 'oidc', provider_client_id: 'x', issuer: 'https://idp2.example',
    }); // prettier-ignore
    const admin = email();
    await imported(service, api, [{ email: admin, roles: ['administrator'] }]);
    for (const change of [
      { password_hash: formatSamples[3]!.hash },
      { external_id: 'taken' },
      { identities: [{ connection: 'upsert', subject: 'mine' }] },
      { status: 'blocked' },
      { pending_migration: true },
    ]) {
      const job = await imported(service, writer, [{ email: admin, ...change }], { mode: 'upsert' });
      expect([change, job['status'], job['errors'][0]?.[1]]).toEqual([change, 'failed', 'scope_escalation']);
    }
    expect(await userOf(admin)).toMatchObject({ password_hash: null, external_id: null, status: 'active', pending_migration: false });
  });

  test('brings the data is who made the import, with no less than it may do (attack 50.1468)', async () => {
    const { id } = await begun();
    const narrow = await only('user_imports:write users:write');
    expect(codeOf(await sendData(narrow, id, ndjson([{ email: email() }])))).toEqual([403, 'scope_escalation']);
    const client = await api.create('clients', { name: 'Other', application_type: 'machine' });
    await ctx.db.knex('user_imports').where({ id }).update({ actor_id: client['id'] });
    expect(codeOf(await sendData(api, id, ndjson([{ email: email() }])))).toEqual([403, 'scope_escalation']);
    await api.patch(`/user_imports/${id}/cancel`);
  });

  test('lost the permission meanwhile imports nobody (attack 50.1469)', async () => {
    const { id } = await begun();
    const address = email();
    await sendData(api, id, ndjson([{ email: address }]));
    await ctx.db.knex('user_imports').where({ id }).update({ actor_id: 'gone' });
    await runImports(service);
    expect((await api.get(`/user_imports/${id}`)).body['data'].attributes).toMatchObject({ status: 'failed', created_count: 0 });
    expect(await userOf(address)).toBeNull();
  });

  test.each(['clients', 'users'] as const)('of %s was disabled or blocked meanwhile imports nobody (attack 50.1469)', async (kind) => {
    const { id } = await begun();
    const address = email();
    await sendData(api, id, ndjson([{ email: address }]));
    const user = await addUser(ctx, { status: 'blocked' });
    await permit(ctx, user.id, 'users:write', 'user_imports:write');
    const client = await api.create('clients', { name: 'Importer', application_type: 'machine', status: 'disabled' });
    const scopes = ['users:write', 'user_imports:write'];
    await addGrant(ctx, client as never, (await apiResourceOf(ctx, ctx.environment.management_audience))!, scopes, 'client');
    const maker = kind === 'users' ? { actor_kind: 'user', actor_id: user.id } : { actor_id: client['id'] as string };
    await ctx.db.knex('user_imports').where({ id }).update(maker);
    await runImports(service);
    expect((await api.get(`/user_imports/${id}`)).body['data'].attributes).toMatchObject({ status: 'failed', created_count: 0 });
    expect(await userOf(address)).toBeNull();
  });

  test('cancels an import ends it; one that is over stays as it is (specification 18.2.11)', async () => {
    const { id } = await begun();
    expect((await api.patch(`/user_imports/${id}/cancel`)).body['data'].attributes).toMatchObject({ status: 'cancelled' });
    expect(codeOf(await api.patch(`/user_imports/${id}/cancel`))).toEqual([409, 'invalid_transition']);
    expect(codeOf(await sendData(api, id, '{}'))).toEqual([409, 'invalid_transition']);
    await runImports(service);
    expect((await api.get(`/user_imports/${id}`)).body['data'].attributes.status).toBe('cancelled');
  });

  test('makes more imports than may wait is told so', async () => {
    const all = [];
    for (let n = 0; n < 10; n++) all.push((await begun())['id']);
    expect(codeOf(await api.attempt('user_imports', { mode: 'create' }))).toEqual([409, 'too_many']);
    for (const id of all) await api.patch(`/user_imports/${id}/cancel`);
  });

  test('is of another environment finds no import to send to, read or cancel, whatever they hold there (attack 50.1501)', async () => {
    const { id } = await begun();
    const { api: there } = await secondEnvironment(api, 'other');
    expect(codeOf(await sendData(there, id, ndjson([{ email: email() }])))).toEqual([404, 'not_found']);
    for (const path of ['', '/row_errors', '/relationships/row_errors'])
      expect([path, ...codeOf(await there.get(`/user_imports/${id}${path}`))]).toEqual([path, 404, 'not_found']);
    expect(codeOf(await there.patch(`/user_imports/${id}/cancel`))).toEqual([404, 'not_found']);
    expect((await api.patch(`/user_imports/${id}/cancel`)).body['data'].attributes).toMatchObject({ received_bytes: 0 });
  });

  test('lost a permission between two parts brings no more of the file (attack 50.1502)', async () => {
    const management = (await apiResourceOf(ctx, ctx.environment.management_audience))!;
    const client = await addMachine(ctx, management);
    const { id: grant } = (await api.get(`/client_grants?filter[client]=${client.id}`)).body['data'][0] as Document;
    const grantOnly = (...scopes: string[]) => api.update('client_grants', grant, { scopes });
    await grantOnly('user_imports:read', 'user_imports:write', 'users:write');
    const maker = new Api(service.url, await managementToken(service.url, client));
    const { id } = await begun({}, maker);
    const file = ndjson([{ email: email() }, { email: email() }]);
    const part = (from: number, to: number) => sendData(maker, id, file.slice(from, to), { 'content-range': `bytes ${from}-${to - 1}/${file.length}` }); // prettier-ignore
    expect((await part(0, 10)).status).toBe(200);
    for (const [scopes, code] of [
      [['user_imports:read', 'user_imports:write'], 'scope_escalation'],
      [['user_imports:read', 'users:write'], 'insufficient_scope'],
    ] as const) {
      await grantOnly(...scopes);
      expect(codeOf(await part(10, file.length))).toEqual([403, code]);
    }
    expect((await api.get(`/user_imports/${id}`)).body['data'].attributes).toMatchObject({ status: 'awaiting_data', received_bytes: 10 });
    await api.patch(`/user_imports/${id}/cancel`);
  });

  test('reads imports and not users learns of failed rows no value that they had (attack 50.1503)', async () => {
    const secret = 'canary';
    const wrong: Document[] = [
      { email: secret },
      { email: `${secret}@example.com`, external_id: secret.repeat(100) },
      { email: email(), password_hash: `$2b$99$${secret}` },
      { email: email(), password: secret },
      { email: email(), first_name: [secret] },
      { email: email(), birthdate: secret, zoneinfo: secret, locale: `${secret}!`, phone_number: secret, picture: secret, website: secret },
      { email: email(), status: secret, gender: { secret }, metadata: secret },
      { email: email(), roles: [secret] },
      { email: email(), identities: [{ connection: secret, subject: secret }] },
      { email: email(), address: { country: secret.repeat(1_000) } },
    ];
    const { id, failed_count } = await imported(service, api, wrong);
    expect(failed_count).toBe(wrong.length);
    const narrow = await only('user_imports:read');
    const { text } = await narrow.get(`/user_imports/${id}/row_errors?page[size]=100`);
    expect(text).toContain('"line"');
    expect(text).not.toContain(secret);
    expect(codeOf(await (await only('user_exports:read users:read')).get(`/user_imports/${id}/row_errors`))).toEqual([
      403,
      'insufficient_scope',
    ]);
  });
});

test('lines as long as they may be are read in turns, and so is their preview: nobody else waits (attack 70.1958)', async () => {
  const metadata = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`k${at}`, 'v'.repeat(55)]));
  const heavy = ndjson(Array.from({ length: 60 }, () => ({ email: email(), metadata })));
  const previewed = await costOf(async () => {
    const { id } = await begun({ dry_run: true });
    const { status } = await sendData(api, id as string, gzipSync(heavy), { 'content-encoding': 'gzip' });
    await previewImport(ctx, (await findUserImport(ctx.scope, id as string)) as UserImportRow);
    await api.patch(`/user_imports/${id}/cancel`);
    return status;
  });
  const read = await costOf(async () => (await imported(service, api, heavy, { dry_run: true }))['row_count'] as number);
  expect([previewed.status, read.status]).toEqual([200, 60]);
  expect(previewed.ms).toBeLessThan(mostHeld);
  expect(read.ms).toBeLessThan(mostHeld);
});
