// Claim mappings and what goes with them as they are set: what is refused, and who may set them.
import { describe, expect, test } from 'vitest';
import { reservedClaims } from '../../src/domain/claims/claim-mappings.js';
import { manage, type Api, type ApiAnswer, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));
const client = shared(() => api.create('clients', { name: 'Told', first_party: false, redirect_uris: ['https://app.example/cb'] }));
const resource = shared(() => api.create('api_resources', { identifier: 'https://api.example/told', name: 'Told' }));

const set = (caller: Api, record: Document, attributes: Document) =>
  caller.patch(`/${record['type']}s/${record['id']}`, { data: { type: record['type'], id: record['id'], attributes } });
const problem = ({ status, body }: ApiAnswer) => [status, body['errors']?.[0]?.code, body['errors']?.[0]?.source?.pointer];
const map = (mapping: Document) => ({ claim_mappings: [{ claim: 'groups', in: ['id_token'], ...mapping }] });
const at = (member: string) => `/data/attributes/claim_mappings/0/${member}`;

test('a client and an API resource keep what was set, and say so', async () => {
  const told = {
    id_token_claims: 'profile',
    userinfo_signed_response_alg: 'RS256',
    initiate_login_uri: 'https://app.example/start?from=idp',
    claim_mappings: [
      { claim: 'groups', in: ['id_token', 'userinfo'], source: 'roles' },
      { claim: 'https://hasura.io/jwt/claims', in: ['access_token'], value: ['a', 'b'] },
    ],
  };
  expect((await set(api, client, told)).body['data'].attributes).toMatchObject(told);
  const issued = { token_typ: 'JWT', user_scopes: 'held', claim_mappings: [{ claim: 'mail', in: ['access_token'], source: 'email' }] };
  expect((await set(api, resource, issued)).body['data'].attributes).toMatchObject(issued);
  const fresh = (await api.create('clients', { name: 'Fresh', redirect_uris: ['https://app.example/cb'] }))['attributes'];
  expect(fresh).toMatchObject({
    id_token_claims: 'protocol',
    claim_mappings: [],
    userinfo_signed_response_alg: null,
    initiate_login_uri: null,
  });
});

test.each(['sub', 'iss', 'aud', 'permissions', 'scope', 'act', 'cnf', 'client_id', 'at_hash'])(
  'the claim %s is of the protocol: refused, and the reason told (specification 5.13.4)',
  async (claim) => {
    expect(reservedClaims).toContain(claim);
    expect(problem(await set(api, client, map({ claim, source: 'email' })))).toEqual([422, 'reserved_claim', at('claim')]);
    expect(problem(await set(api, resource, map({ claim, value: 'x', in: ['access_token'] })))).toEqual([
      422,
      'reserved_claim',
      at('claim'),
    ]);
  },
);

test.each(['SUB', 'Permissions', 'gID', 'Sub_Id', '__PROTO__'])(
  'the claim %s is the protocol claim to libraries that compare without case: refused (attack 8.353)',
  async (claim) => {
    expect(problem(await set(api, client, map({ claim, value: 'x' })))).toEqual([422, 'reserved_claim', at('claim')]);
    expect(problem(await set(api, resource, map({ claim, value: 'x', in: ['access_token'] })))[1]).toBe('reserved_claim');
  },
);

test('what cannot be mapped is refused at its place', async () => {
  const refused: [Document, string, string][] = [
    [{ source: 'password_hash' }, 'invalid_value', at('source')],
    [{ source: 'metadata' }, 'invalid_value', at('source')],
    [{ source: 'metadata..x' }, 'invalid_value', at('source')],
    [{ source: 'constructor' }, 'invalid_value', at('source')],
    [{ source: 'email', value: 'both' }, 'invalid_value', at('source')],
    [{ source: 'email', in: [] }, 'too_short', at('in')],
    [{ source: 'email', in: ['id_token', 'id_token'] }, 'duplicate_value', at('in')],
    [{ source: 'email', in: ['cookie'] }, 'invalid_value', `${at('in')}/0`],
    [{ source: 'email', claim: 'with space' }, 'invalid_format', at('claim')],
  ];
  for (const [mapping, code, pointer] of refused) expect(problem(await set(api, client, map(mapping)))).toEqual([422, code, pointer]);
  expect((await set(api, client, map({}))).status).toBe(422);
  const twice = { claim_mappings: ['roles', 'email'].map((source) => ({ claim: 'groups', source, in: ['id_token'] })) };
  expect(problem(await set(api, client, twice))).toEqual([422, 'duplicate_value', '/data/attributes/claim_mappings/1/claim']);
  const cased = { claim_mappings: ['groups', 'Groups'].map((claim) => ({ claim, source: 'email', in: ['id_token'] })) };
  expect(problem(await set(api, client, cased))).toEqual([422, 'duplicate_value', '/data/attributes/claim_mappings/1/claim']);
  const many = { claim_mappings: Array.from({ length: 21 }, (_, n) => ({ claim: `c${n}`, source: 'email', in: ['id_token'] })) };
  expect(problem(await set(api, client, many)).slice(0, 2)).toEqual([422, 'too_long']);
  // An API resource has access tokens alone.
  expect(problem(await set(api, resource, map({ source: 'email', in: ['id_token'] })))).toEqual([422, 'invalid_value', at('in')]);
});

test.each([
  ['http://app.example/start', 422],
  ['com.example.app:/start', 422],
  ['javascript:alert(1)', 422],
  ['http://localhost:3001/start', 200],
  ['https://app.example/start', 200],
])('initiate_login_uri %s: %s (specification 5.1.8)', async (initiate_login_uri, status) => {
  expect((await set(api, client, { initiate_login_uri })).status).toBe(status);
});

test('what tells of people takes the permission to read it, beside that to write the record (attack 22.332)', async () => {
  await set(api, client, { claim_mappings: [] });
  await set(api, resource, { claim_mappings: [] });
  const writer = await manage(service.url, 'clients:write clients:read api_resources:write api_resources:read');
  const lacks = async (record: Document, mapping: Document, required: string[]) => {
    const { status, body } = await set(writer, record, map({ in: ['access_token'], ...mapping }));
    expect([status, body['errors'][0].code, body['errors'][0].meta.required]).toEqual([403, 'scope_escalation', required]);
  };
  for (const record of [client, resource]) {
    await lacks(record, { source: 'metadata.salary' }, ['users:read']);
    await lacks(record, { claim: 'given_name', source: 'first_name' }, ['users:read']);
    await lacks(record, { source: 'roles' }, ['roles:read', 'users:read']);
    await lacks(record, { source: 'permissions' }, ['permissions:read', 'users:read']);
    expect((await set(api, record, map({ in: ['access_token'], source: 'metadata.salary' }))).status).toBe(200);
  }
  // Whoever controls such a client is told the same.
  const { status, body } = await set(writer, client, { redirect_uris: ['https://elsewhere.example/cb'] });
  expect([status, body['errors'][0].meta.required]).toEqual([403, ['users:read']]);
  const reader = await manage(service.url, 'clients:write clients:read users:read');
  expect((await set(reader, client, { redirect_uris: ['https://app.example/other'] })).status).toBe(200);
});

test('what says of people what no administrator of people wrote takes the permissions to change people and their roles (attack 22.411)', async () => {
  const attested: [Document, string[]][] = [
    [{ value: ['admins'] }, ['roles:write', 'users:write']],
    [{ claim: 'upn', source: 'preferred_username' }, ['roles:write', 'users:read', 'users:write']],
    [{ claim: 'preferred_username', source: 'nickname' }, ['roles:write', 'users:read', 'users:write']],
    [{ claim: 'Given_Name', source: 'first_name' }, ['roles:write', 'users:read', 'users:write']],
  ];
  const own = 'clients:write clients:read api_resources:write api_resources:read';
  const [writer, reader] = [await manage(service.url, own), await manage(service.url, `${own} users:read roles:read permissions:read`)];
  const full = await manage(service.url, `${own} users:read users:write roles:write`);
  for (const record of [client, resource]) {
    for (const [mapping, required] of attested) {
      await set(api, record, { claim_mappings: [] });
      const attributes = map({ in: ['access_token'], ...mapping });
      const refused = await set(writer, record, attributes);
      expect([refused.status, refused.body['errors'][0].meta.required]).toEqual([403, required]);
      expect((await set(reader, record, attributes)).body['errors'][0].meta.required).toEqual(['roles:write', 'users:write']);
      expect((await set(full, record, attributes)).status).toBe(200);
      // What it is taken for is also who acts with it, and who takes the mapping away.
      const moved =
        record === client
          ? { redirect_uris: ['https://elsewhere.example/cb'] }
          : { user_scopes: 'requested', token_typ: 'at+jwt', token_format: 'opaque' };
      for (const change of [moved, { claim_mappings: [] }])
        expect([(await set(reader, record, change)).status, change]).toEqual([403, change]);
    }
  }
  const made = await writer.attempt('clients', { name: 'Made', redirect_uris: ['https://app.example/cb'], ...map({ value: ['admins'] }) });
  expect([made.status, made.body['errors'][0].code]).toEqual([403, 'scope_escalation']);
});

test.each(['email', 'email_verified', 'phone_number', 'phone_number_verified', 'Email', 'EMAIL_VERIFIED'])(
  'the claim %s tells the attribute of its name or nothing, whoever asks (attack 22.412)',
  async (claim) => {
    for (const from of [{ value: true }, { value: 'ceo@corp.example' }, { source: 'nickname' }, { source: 'metadata.mail' }]) {
      expect(problem(await set(api, client, map({ claim, ...from })))).toEqual([422, 'reserved_claim', at('claim')]);
      expect(problem(await set(api, resource, map({ claim, in: ['access_token'], ...from })))[1]).toBe('reserved_claim');
    }
    expect((await set(api, client, map({ claim, source: claim.toLowerCase() }))).status).toBe(200);
  },
);

describe('the identifier of an API resource', () => {
  const create = (identifier: string) => api.attempt('api_resources', { identifier, name: 'Mine' });

  test.each([
    '',
    '/',
    '/?tenant=1',
    '/api/',
    '/api/users',
    '/API',
    '/x/../api',
    '/oauth/token',
    '/oauth/userinfo',
    '/oauth',
    '/.well-known/jwks.json',
  ])('is no address of the service: %s (attack 15.413)', async (path) => {
    const upper = service.url.replace(/^http:..[^:]+/, (start) => start.toUpperCase());
    for (const base of [service.url, upper])
      expect(problem(await create(`${base}${path}`))).toEqual([422, 'reserved_name', '/data/attributes/identifier']);
  });

  test('may be beside them, and of the Management API there is one', async () => {
    for (const path of ['/apis', '/orders', '/oauth2']) expect((await create(`${service.url}${path}`)).status).toBe(201);
    expect((await create('urn:example:orders')).status).toBe(201);
    expect((await create(`${service.url}/api`)).status).toBe(409);
  });
});
