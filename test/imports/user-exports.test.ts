// Exports of users at the Management API: what the file has, who gets it, and that an import elsewhere takes it.
import { beforeAll, expect, test } from 'vitest';
import { apiResourceOf } from '../../src/domain/clients/clients.js';
import { createContext } from '../../src/domain/context.js';
import { provePassword } from '../../src/domain/credentials/prove-password.js';
import type { Environment } from '../../src/domain/environment.js';
import { findEnvironmentById } from '../../src/domain/environments/environments.js';
import { noOrigin } from '../../src/domain/origin.js';
import { addMachine, addUser } from '../support/data.js';
import { imported, runImports, sendData } from '../support/imports.js';
import { Api, manage, managementClient, managementToken, secondEnvironment, type Document } from '../support/management.js';
import { firebaseKey, formatSamples } from '../support/password-hashes.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
let api: Api;
beforeAll(async () => void (api = await manage(service.url)));

const only = async (scope: string) => new Api(service.url, await managementToken(service.url, managementClient, { scope }));
const made = (attributes: Document = {}, by = api) => by.create('user_exports', attributes);
const fetched = (id: string, by = api) => by.get(`/user_exports/${id}/data`, { accept: '*/*' });
const codeOf = ({ status, body }: { status: number; body: Document }) => [status, body['errors']?.[0]?.code];

test('an export with hashes, imported elsewhere, signs everybody in (specification 18.3.1)', async () => {
  const people = formatSamples.map(({ hash, password }, n) => ({ email: `moved-${n}@example.com`, hash, password }));
  const rows = people.map(({ email, hash }) => ({ email, password_hash: hash, first_name: 'Åsa', metadata: { n: [1] } }));
  await imported(service, api, rows, { hash_parameters: firebaseKey });
  await api.create('roles', { name: 'clerk' });
  await imported(service, api, [{ email: 'blocked@example.com', status: 'blocked', roles: ['clerk'], pending_migration: true }]);
  const { id } = await made({ include_password_hashes: true });
  const file = await fetched(id);
  expect([file.status, file.headers.get('content-type'), file.headers.get('cache-control')]).toEqual([
    200,
    'application/x-ndjson',
    'no-store',
  ]);
  const lines = file.text.trim().split('\n').map((line) => JSON.parse(line) as Document); // prettier-ignore
  expect(lines.find(({ email }) => email === 'blocked@example.com')).toMatchObject({
    status: 'blocked',
    roles: ['clerk'],
    pending_migration: true,
  });
  const elsewhere = await secondEnvironment(api, 'elsewhere');
  await elsewhere.api.create('roles', { name: 'clerk' });
  const job = await elsewhere.api.create('user_imports', { mode: 'upsert', hash_parameters: firebaseKey });
  expect((await sendData(elsewhere.api, job['id'], file.text)).status).toBe(200);
  await runImports(service);
  expect((await elsewhere.api.get(`/user_imports/${job['id']}`)).body['data'].attributes).toMatchObject({
    status: 'succeeded',
    failed_count: 0,
  });
  const environment = await findEnvironmentById(service.deps, elsewhere.id);
  const there = createContext(service.deps, environment as Environment);
  const by = { origin: noOrigin, device: null };
  for (const { email, password } of people)
    expect([email, (await provePassword(there, email, password, by)).outcome]).toEqual([email, 'ok']);
});

test('an export has no hash unless that is asked for, and then takes password_hashes:read (attack 50.1470)', async () => {
  await addUser(ctx, { email: 'secretive@example.com', email_key: 'secretive@example.com' });
  expect((await fetched((await made())['id'])).text).not.toContain('password_hash');
  const reader = await only('user_exports:read user_exports:write users:read roles:read');
  const refused = await reader.attempt('user_exports', { include_password_hashes: true });
  expect([...codeOf(refused), refused.body['errors'][0].meta.required]).toEqual([403, 'scope_escalation', ['password_hashes:read']]);
  const { id } = await made({ include_password_hashes: true });
  expect(codeOf(await fetched(id, reader))).toEqual([403, 'scope_escalation']);
});

test('an export takes users:read and roles:read too, when it is made and when it is fetched (attack 50.1471)', async () => {
  const narrow = await only('user_exports:read user_exports:write');
  expect(codeOf(await narrow.attempt('user_exports', {}))).toEqual([403, 'scope_escalation']);
  const { id } = await made();
  expect(codeOf(await fetched(id, narrow))).toEqual([403, 'scope_escalation']);
  expect(codeOf(await fetched(id, await only('users:read roles:read')))).toEqual([403, 'insufficient_scope']);
});

test('somebody of another environment finds no export, and whoever lost a permission since they made it gets nothing (attack 50.1504)', async () => {
  const client = await addMachine(ctx, (await apiResourceOf(ctx, ctx.environment.management_audience))!);
  const { id: grant } = (await api.get(`/client_grants?filter[client]=${client.id}`)).body['data'][0] as Document;
  const held = ['user_exports:read', 'user_exports:write', 'users:read', 'roles:read', 'password_hashes:read'];
  const grantOnly = (...scopes: string[]) => api.update('client_grants', grant, { scopes });
  await grantOnly(...held);
  const maker = new Api(service.url, await managementToken(service.url, client));
  const { id } = await made({ include_password_hashes: true }, maker);
  const elsewhere = await secondEnvironment(api, 'exports-elsewhere');
  expect(codeOf(await fetched(id, elsewhere.api))).toEqual([404, 'not_found']);
  expect((await fetched(id, maker)).status).toBe(200);
  for (const lost of held.filter((name) => name !== 'user_exports:write')) {
    await grantOnly(...held.filter((name) => name !== lost));
    expect([lost, (await fetched(id, maker)).status]).toEqual([lost, 403]);
  }
  await api.update('clients', client.id, { status: 'disabled' });
  expect((await fetched(id, maker)).status).toBe(401);
});

test('each fetch is the security event user_export.taken; after 15 minutes there is no file (specification 18.3.2)', async () => {
  const { id } = await made({ include_password_hashes: true });
  await fetched(id);
  const events = (await api.get(`/security_events?filter[event]=user_export.taken`)).body['data'] as Document[];
  expect(events.map(({ attributes: { detail } }) => [detail.target.target_id, detail.include_password_hashes])).toContainEqual([id, true]);
  expect((await api.get(`/user_exports/${id}`)).body['data'].attributes).toMatchObject({ status: 'available' });
  service.clock.advance(901_000);
  const late = await manage(service.url);
  expect(codeOf(await fetched(id, late))).toEqual([410, 'export_expired']);
  expect((await late.get(`/user_exports/${id}`)).body['data'].attributes.status).toBe('expired');
  expect(codeOf(await fetched('01a00000-0000-7000-8000-000000000000', late))).toEqual([404, 'not_found']);
  api = late;
});
