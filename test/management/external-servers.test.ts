// External servers and outbound grants at the Management API: what can be set, what is refused, and who may.
import { beforeAll, describe, expect, test } from 'vitest';
import { addClient } from '../support/data.js';
import { Api, link, manage, managementClient, managementToken, type ApiAnswer, type Document } from '../support/management.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';
import type {} from '../support/service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
let api: Api;
let count = 0;
beforeAll(async () => void (api = await manage(service.url)));

const issuer = () => `https://auth-${(count += 1)}.tools.example`;
const mcp = { identifier: 'https://mcp.tools.example/', scopes: ['read', 'write'] };
const attributes = (more: Document = {}): Document => ({ name: 'Tools', issuer: issuer(), resources: [mcp], ...more });
const createServer = (more: Document = {}, relationships?: Document, caller = api) =>
  caller.attempt('external_servers', attributes(more), relationships);
const only = async (scope: string) => new Api(service.url, await managementToken(service.url, managementClient, { scope }));
const change = (path: string, id: string, changes: Document, relationships?: Document, caller = api) =>
  caller.update(path, id, changes, relationships);
const refusal = ({ status, body }: ApiAnswer) => [status, body['errors']?.[0].code, body['errors']?.[0].source?.pointer];
const at = (name: string) => `/data/attributes/${name}`;

describe('an external server', () => {
  test('has defaults, takes every attribute, and goes with its grants', async () => {
    const { body, status } = await createServer();
    expect([status, body['data'].attributes]).toMatchObject([
      201,
      { audiences: [], include_email: false, tenant: 'none', aud_tenant: null, lifetime: 300, signing_alg: 'RS256', status: 'enabled' },
    ]);
    const { id } = body['data'] as { id: string };
    const client = await addClient(ctx);
    const changes = { audiences: ['https://x.example'], tenant: 'organization', aud_tenant: 't', lifetime: 60, require_proof: true };
    const changed = await change('external_servers', id, changes, { sign_in_client: link('client', client.id) });
    expect(changed.body['data']).toMatchObject({ attributes: changes, relationships: { sign_in_client: link('client', client.id) } });
    const named = { client: link('client', client.id), external_server: link('external_server', id) };
    const grant = await api.create('outbound_grants', { external_client_id: 'there' }, named);
    expect((await api.delete(`/external_servers/${id}`)).status).toBe(204);
    expect((await api.get(`/outbound_grants/${grant['id']}`)).status).toBe(404);
  });

  test.each<[string, Document, number, string, string]>([
    ['an issuer that is ours', { issuer: 'ours' }, 422, 'reserved_name', at('issuer')],
    ['an issuer that is no address', { issuer: 'auth.example' }, 422, 'invalid_url', at('issuer')],
    ['no resources', { resources: [] }, 422, 'too_short', at('resources')],
    ['a resource that is no URI', { resources: [{ ...mcp, identifier: 'mcp' }] }, 422, 'invalid_identifier', at('resources/0/identifier')],
    ['a resource without scopes', { resources: [{ ...mcp, scopes: [] }] }, 422, 'too_short', at('resources/0/scopes')],
    ['a scope of two words', { resources: [{ ...mcp, scopes: ['a b'] }] }, 422, 'invalid_format', at('resources/0/scopes/0')],
    ['a resource twice, in another spelling', { resources: [mcp, { ...mcp, identifier: 'https://mcp.tools.example' }] }, 422, 'duplicate_value', at('resources/1')],
    ['an audience twice, in another spelling', { audiences: ['https://x.example', 'https://x.example/'] }, 422, 'duplicate_value', at('audiences/1')],
    ['a lifetime of eleven minutes', { lifetime: 660 }, 422, 'too_long', at('lifetime')],
    ['a tenant of another kind', { tenant: 'person' }, 422, 'invalid_value', at('tenant')],
    ['an algorithm that the environment has no keys of', { signing_alg: 'ES256' }, 422, 'signing_algorithm_unavailable', at('signing_alg')],
  ])('%s is refused', async (_what, more, status, code, pointer) => {
    const sent = more['issuer'] === 'ours' ? { issuer: ctx.environment.issuer } : more;
    expect(refusal(await createServer(sent))).toEqual([status, code, pointer]);
    const { body } = await createServer();
    expect(refusal(await change('external_servers', body['data'].id as string, sent))).toEqual([status, code, pointer]);
  }); // prettier-ignore

  test.each([
    'https://:auth.example@evil.example',
    'https://auth.example@evil.example',
    'https://@evil.example',
    'https://auth.example\\@evil.example',
  ])('an address that reads as another host than it leads to is refused: %s (attack 69.1942)', async (address) => {
    expect(refusal(await createServer({ issuer: address }))).toEqual([422, 'invalid_url', at('issuer')]);
    const branding = { data: { type: 'environment', id: ctx.environment.id, attributes: { branding: { logo_url: address } } } };
    const answer = await api.patch(`/environments/${ctx.environment.id}`, branding);
    expect(refusal(answer)).toEqual([422, 'invalid_url', at('branding/logo_url')]);
  });

  test('of an issuer that is there already is 409, one of no client is 404', async () => {
    const same = issuer();
    await createServer({ issuer: same });
    expect(refusal(await createServer({ issuer: same }))).toEqual([409, 'already_exists', at('issuer')]);
    const unknown = await createServer({}, { sign_in_client: link('client', 'nobody') });
    expect(refusal(unknown).slice(0, 2)).toEqual([404, 'related_not_found']);
    expect((await api.get('/external_servers/0192d3a4-0000-7000-8000-000000000000')).status).toBe(404);
  });

  test('is for those who hold its permission, and could change people (attack 52.1561)', async () => {
    const { id } = (await createServer()).body['data'] as { id: string };
    const reader = await only('external_servers:read');
    expect((await reader.get(`/external_servers/${id}`)).status).toBe(200);
    expect(refusal(await createServer({}, undefined, reader)).slice(0, 2)).toEqual([403, 'insufficient_scope']);
    const writer = await only('external_servers:read external_servers:write');
    expect(refusal(await createServer({}, undefined, writer)).slice(0, 2)).toEqual([403, 'scope_escalation']);
    const renamed = await change('external_servers', id, { name: 'Others' }, undefined, writer);
    const widened = await change('external_servers', id, { audiences: ['https://x.example'] }, undefined, writer);
    expect([renamed.status, refusal(widened).slice(0, 2)]).toEqual([200, [403, 'scope_escalation']]);
  });
});

describe('an outbound grant', () => {
  let named: Document;
  beforeAll(async () => {
    const server = (await createServer()).body['data'] as { id: string };
    named = { client: link('client', (await addClient(ctx)).id), external_server: link('external_server', server.id) };
  });
  const createGrant = (more: Document = {}, relationships: Document = {}, caller = api) =>
    caller.attempt('outbound_grants', { external_client_id: 'there', ...more }, { ...named, ...relationships });

  test('is for everybody and all, unless it says less', async () => {
    const { body, status } = await createGrant();
    const whole = {
      resources: null,
      scopes: null,
      authorization_details_types: [],
      required_acr: null,
      max_authentication_age: null,
      status: 'enabled',
    };
    expect([status, body['data'].attributes]).toMatchObject([201, whole]);
    const role = await api.create('roles', { name: 'agent users' });
    const { id } = body['data'] as { id: string };
    const less = {
      resources: [mcp.identifier],
      scopes: ['read'],
      authorization_details_types: ['payment'],
      required_acr: '2',
      max_authentication_age: 60,
    };
    const changed = await change('outbound_grants', id, less, { role: link('role', role['id'] as string) });
    expect(changed.body['data']).toMatchObject({ attributes: less, relationships: { role: link('role', role['id'] as string) } });
    expect((await api.get(`/outbound_grants?filter[client]=${named['client'].data.id}`)).body['data']).toHaveLength(1);
    expect((await api.delete(`/roles/${role['id']}`)).status).toBe(204);
    expect((await api.get(`/outbound_grants/${id}`)).status).toBe(404);
  });

  test.each<[string, Document, number, string, string]>([
    ['no name at the server', { external_client_id: null }, 422, 'required', at('external_client_id')],
    ['no scope at all', { scopes: [] }, 422, 'too_short', at('scopes')],
    ['a type twice', { authorization_details_types: ['payment', 'payment'] }, 422, 'duplicate_value', at('authorization_details_types')],
    ['no resource at all', { resources: [] }, 422, 'too_short', at('resources')],
    ['a class that is none', { required_acr: '9' }, 422, 'invalid_value', at('required_acr')],
    ['an age below zero', { max_authentication_age: -1 }, 422, 'too_short', at('max_authentication_age')],
  ])('with %s is refused', async (_what, more, status, code, pointer) => {
    expect(refusal(await createGrant(more))).toEqual([status, code, pointer]);
    const { id } = (await createGrant()).body['data'] as { id: string };
    expect(refusal(await change('outbound_grants', id, more))).toEqual([status, code, pointer]);
  });

  test('of a public client is refused, and of what is not there; client and server stay', async () => {
    const open = await addClient(ctx, { token_endpoint_auth_method: 'none' });
    expect(refusal(await createGrant({}, { client: link('client', open.id) })).slice(0, 2)).toEqual([422, 'public_client']);
    for (const [name, type] of [['client', 'client'], ['external_server', 'external_server'], ['organization', 'organization'], ['organization_group', 'organization_group'], ['role', 'role']] as const) {
      const answer = await createGrant({}, { [name]: link(type, '0192d3a4-0000-7000-8000-000000000000') });
      expect([name, ...refusal(answer).slice(0, 2)]).toEqual([name, 404, 'related_not_found']);
    } // prettier-ignore
    const { id } = (await createGrant()).body['data'] as { id: string };
    const other = { client: link('client', (await addClient(ctx)).id) };
    expect((await change('outbound_grants', id, {}, other)).status).toBeGreaterThanOrEqual(400);
  });

  test('is for those who hold its permission, and could change people (attack 52.1561)', async () => {
    const { id } = (await createGrant()).body['data'] as { id: string };
    const reader = await only('outbound_grants:read');
    expect((await reader.get(`/outbound_grants/${id}`)).status).toBe(200);
    expect(refusal(await createGrant({}, {}, reader)).slice(0, 2)).toEqual([403, 'insufficient_scope']);
    const writer = await only('outbound_grants:read outbound_grants:write');
    expect(refusal(await createGrant({}, {}, writer)).slice(0, 2)).toEqual([403, 'scope_escalation']);
    const wider = await change('outbound_grants', id, { scopes: null, status: 'enabled' }, undefined, writer);
    const other = await change('outbound_grants', id, { external_client_id: 'other' }, undefined, writer);
    expect([wider.status, refusal(other).slice(0, 2)]).toEqual([200, [403, 'scope_escalation']]);
  });
});
