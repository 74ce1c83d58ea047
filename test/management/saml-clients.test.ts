// SAML applications and certificates through the Management API (specification 16.8).
import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { manage, type Document } from '../support/management.js';
import { acsUrl } from '../support/saml-application.js';
import { samlKeyPair } from '../support/saml-provider.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

let count = 0;
const saml = (more: Document = {}): Document => ({
  name: 'Wiki',
  application_type: 'saml',
  saml_entity_id: `https://wiki.example/${(count += 1)}`,
  saml_acs_urls: [acsUrl],
  ...more,
});
const create = (attributes: Document) => api.attempt('clients', attributes);
const change = (id: string, attributes: Document) => api.update('clients', id, attributes);
const refusalsIn = (answer: { status: number; body: Document }) => [
  answer.status,
  ...((answer.body['errors'] ?? []) as Document[]).map((one) => [one['code'], one['meta']?.field ?? one['source']?.pointer]),
];

describe('SAML applications', () => {
  test('have an entity ID and addresses, and nothing of OAuth (specification 16.8.1)', async () => {
    const made = await create(saml());
    expect(made.status).toBe(201);
    expect(made.body['data'].attributes).toMatchObject({
      application_type: 'saml',
      saml_name_id: 'persistent',
      saml_attributes: {},
      saml_request_certificates: [],
      saml_idp_initiated: false,
      grant_types: [],
      redirect_uris: [],
      token_endpoint_auth_method: 'none',
      secret_hint: null,
      first_party: true,
    });
    expect(made.body['meta']).toBeUndefined();
    const id = made.body['data'].id as string;
    const { certificate } = await samlKeyPair();
    const changed = await change(id, {
      saml_name_id: 'email',
      saml_attributes: { groups: 'roles', tenant: 'org_id' },
      saml_request_certificates: [certificate],
      saml_idp_initiated: true,
      saml_acs_urls: [acsUrl, 'http://localhost:8080/acs'],
      required_acr: '2',
      organization_usage: 'require',
    });
    expect(changed.status).toBe(200);
    // What is shown can be sent again as it is.
    const { grant_types, redirect_uris, require_pkce } = changed.body['data'].attributes;
    expect((await change(id, { grant_types, redirect_uris, require_pkce })).status).toBe(200);
  });

  test('what makes no sense for them is refused, each by its name (specification 16.8.1)', async () => {
    const at = (name: string) => `/data/attributes/${name}`;
    const id = (await create(saml())).body['data'].id as string;
    for (const [attributes, code, pointer] of [
      [{ redirect_uris: ['https://a.example/'] }, 'application_type_mismatch', at('redirect_uris')],
      [{ grant_types: ['authorization_code'] }, 'application_type_mismatch', at('grant_types')],
      [{ token_endpoint_auth_method: 'client_secret_basic' }, 'application_type_mismatch', at('token_endpoint_auth_method')],
      [{ scopes: ['openid'] }, 'application_type_mismatch', at('scopes')],
      [{ dpop_bound_access_tokens: true }, 'application_type_mismatch', at('dpop_bound_access_tokens')],
      [{ profile: 'fapi2' }, 'application_type_mismatch', at('profile')],
      [{ initiate_login_uri: 'https://a.example/' }, 'application_type_mismatch', at('initiate_login_uri')],
      [{ saml_entity_id: null }, 'required', at('saml_entity_id')],
      [{ saml_entity_id: 'with space' }, 'invalid_format', at('saml_entity_id')],
      [{ saml_acs_urls: [] }, 'required', at('saml_acs_urls')],
      [{ saml_acs_urls: ['http://wiki.example/acs'] }, 'invalid_redirect_uri', `${at('saml_acs_urls')}/0`],
      [{ saml_acs_urls: ['com.example.app:/acs'] }, 'invalid_redirect_uri', `${at('saml_acs_urls')}/0`],
      [{ saml_name_id: 'transient' }, 'invalid_value', at('saml_name_id')],
      [{ saml_attributes: { mail: 'password' } }, 'invalid_value', `${at('saml_attributes')}/mail`],
      [{ saml_request_certificates: ['PEM'] }, 'invalid_value', `${at('saml_request_certificates')}/0`],
    ] as const) {
      const answer = await change(id, attributes);
      expect(refusalsIn(answer)[0]).toBe(422);
      expect(refusalsIn(answer)).toContainEqual([code, pointer]);
    }
    const created = await create({ name: 'Wiki', application_type: 'saml' });
    expect(refusalsIn(created)).toEqual([422, ['required', 'saml_entity_id'], ['required', 'saml_acs_urls']]);
    expect((await api.patch(`/clients/${id}/rotate_secret`)).status).toBe(409);
  });

  test('other clients have nothing of SAML (specification 16.8.1)', async () => {
    const answer = await create({
      name: 'Web',
      redirect_uris: ['https://a.example/cb'],
      saml_acs_urls: [acsUrl],
      saml_idp_initiated: true,
    });
    const pointers = ['saml_acs_urls', 'saml_idp_initiated'].map((name) => ['application_type_mismatch', `/data/attributes/${name}`]);
    expect(refusalsIn(answer)).toEqual([422, ...pointers]);
  });

  test('one entity ID is one application (specification 16.8.1)', async () => {
    const same = saml();
    expect((await create(same)).status).toBe(201);
    expect(refusalsIn(await create(same))).toEqual([409, ['already_exists', '/data/attributes/saml_entity_id']]);
  });
});

describe('SAML certificates', () => {
  const statuses = async () =>
    ((await api.get('/saml_certificates?sort=created_at')).body['data'] as Document[]).map((one) => one['attributes'].status);
  const metadata = async () => (await (await fetch(`${service.url}/saml/metadata`)).text()).match(/<ds:X509Certificate>/g)?.length;

  test('are published before they sign, and rotated by hand (specification 16.8.7)', async () => {
    expect(await metadata()).toBe(1);
    expect(await statuses()).toEqual(['primary']);
    const next = await api.create('saml_certificates', {});
    expect(next['attributes']).toMatchObject({ status: 'next' });
    expect(Object.keys(next['attributes'])).not.toContain('private_key_sealed');
    const { validFrom, validTo } = new X509Certificate(next['attributes'].pem);
    expect(new Date(validTo).getUTCFullYear() - new Date(validFrom).getUTCFullYear()).toBe(10);
    expect(await metadata()).toBe(2);
    const twice = await api.attempt('saml_certificates', {});
    expect(refusalsIn(twice)).toEqual([409, ['invalid_transition', undefined]]);
    expect((await api.patch(`/saml_certificates/${next['id']}/activate`)).body['data'].attributes.status).toBe('primary');
    expect(await statuses()).toEqual(['previous', 'primary']);
    expect(await metadata()).toBe(1);
    expect((await api.patch(`/saml_certificates/${next['id']}/activate`)).status).toBe(409);
    const third = await api.create('saml_certificates', {});
    await api.patch(`/saml_certificates/${third['id']}/activate`);
    expect(await statuses()).toEqual(['previous', 'primary']);
  });

  test('nobody reads, makes or activates one without the permission (specification 6.1.2)', async () => {
    const next = await api.create('saml_certificates', {});
    const caller = await manage(service.url, 'clients:write saml_certificates:read');
    expect((await caller.get('/saml_certificates')).status).toBe(200);
    const made = await caller.attempt('saml_certificates', {});
    expect(refusalsIn(made)[0]).toBe(403);
    expect((await caller.patch(`/saml_certificates/${next['id']}/activate`)).status).toBe(403);
    expect((await (await manage(service.url, 'clients:write')).get('/saml_certificates')).status).toBe(403);
    expect((await api.delete(`/saml_certificates/${next['id']}`)).status).toBe(405);
  });
});

test.each([
  [{ mail: 'email' }, ['users:read']],
  [{ groups: 'roles' }, ['roles:read', 'users:read']],
  [{ given_name: 'given_name' }, ['users:read']],
  [{ upn: 'nickname' }, ['roles:write', 'users:read', 'users:write']],
  [{ email: 'name' }, ['roles:write', 'users:read', 'users:write']],
])('attributes %j of a SAML application take what a claim mapping would: %j (attack 47.1505)', async (saml_attributes, required) => {
  const narrow = await manage(service.url, 'clients:read clients:write');
  const attributes = saml({ saml_attributes });
  const refused = await narrow.attempt('clients', attributes);
  expect([refused.status, refused.body['errors']?.[0].meta]).toEqual([403, { required }]);
  const { id } = (await narrow.attempt('clients', saml())).body['data'];
  const own = (wanted: Document) => narrow.update('clients', id, wanted);
  expect((await own({ saml_attributes })).status).toBe(403);
  const address = await own({ saml_name_id: 'email' });
  expect([address.status, address.body['errors']?.[0].meta]).toEqual([403, { required: ['users:read'] }]);
  const wide = await manage(service.url, `clients:read clients:write ${required.join(' ')}`);
  expect((await wide.attempt('clients', attributes)).status).toBe(201);
});
