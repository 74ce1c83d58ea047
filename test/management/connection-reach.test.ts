// Who may make a connection reach further: never somebody who may only write connections.
import { expect, test } from 'vitest';
import { identityDeciding } from '../../src/domain/connections/reach.js';
import { apply, problemsOf } from '../support/configuration.js';
import { formValues } from '../support/dashboard-forms.js';
import { manage, type Api, type ApiAnswer } from '../support/management.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let count = 0;

const admin = shared(() => manage(service.url));
const narrow = shared(() => manage(service.url, 'connections:read connections:write'));

const attributes = (more: object = {}) => ({
  name: `c${count++}`, display_name: 'Corp', strategy: 'oidc', issuer: 'https://id.corp.example', provider_client_id: 'us', ...more,
}); // prettier-ignore
const make = async (api: Api, more: object = {}) =>
  (await api.create('connections', attributes(more))) as { id: string; attributes: Record<string, unknown> };
const patch = (api: Api, id: string, changes: object) => api.update('connections', id, changes);
const refusalOf = ({ status, body }: ApiAnswer) => {
  const [error] = (body['errors'] ?? []) as { code: string; source?: { pointer: string } }[];
  return [status, error?.code, error?.source?.pointer];
};
const escalation = (attribute: string) => [403, 'scope_escalation', `/data/attributes/${attribute}`];

test('without saying so, a new connection asks; who may do everything is believed, who may only write connections is not (attack 22.236)', async () => {
  expect((await make(admin)).attributes).toMatchObject({ account_linking: 'ask', required: false, trusted: true, generation: 1 });
  expect((await make(narrow)).attributes).toMatchObject({ account_linking: 'ask', required: false, trusted: false });
});

test.each([
  ['account_linking', { account_linking: 'verified_email' }],
  ['domains', { domains: ['corp.example'] }],
  ['required', { domains: ['corp.example'], required: true }],
  ['trusted', { trusted: true }],
])('%s takes every permission, at creation and by a change (attack 22.236)', async (attribute, wanted) => {
  expect(refusalOf(await narrow.attempt('connections', attributes(wanted)))).toEqual(escalation(attribute));
  const own = await make(narrow);
  expect(refusalOf(await patch(narrow, own.id, wanted))).toEqual(escalation(attribute));
  expect((await patch(admin, own.id, wanted)).body['data'].attributes).toMatchObject(wanted);
  expect((await make(admin, wanted)).attributes).toMatchObject(wanted);
});

test('a connection with verified_email is changed by holders of everything alone; others may name it', async () => {
  const { id } = await make(admin, { account_linking: 'verified_email', domains: ['a.example', 'b.example'], status: 'disabled' });
  const changes: [string, object][] = [
    ['strategy', {}], ['issuer', { issuer: 'https://evil.example' }], ['authorization_endpoint', { authorization_endpoint: 'https://evil.example' }],
    ['token_endpoint', { token_endpoint: 'https://evil.example' }], ['userinfo_endpoint', { userinfo_endpoint: 'https://evil.example' }],
    ['jwks_uri', { jwks_uri: 'https://evil.example' }], ['provider_client_id', { provider_client_id: 'evil' }], ['claim_mapping', { claim_mapping: { email: 'x' } }],
    ['options', { options: { trust_email: true } }], ['domains', { domains: ['a.example', 'c.example'] }], ['domains', { domains: ['a.example'] }],
    ['domains', { domains: [] }], ['status', { status: 'enabled' }], ['allow_registration', { allow_registration: false }],
    ['provider_client_secret', { provider_client_secret: 'evil' }], ['scopes', { scopes: ['openid'] }], ['profile_sync', { profile_sync: 'on_login' }],
  ]; // prettier-ignore
  for (const [attribute, change] of changes.slice(1)) expect(refusalOf(await patch(narrow, id, change))).toEqual(escalation(attribute));
  expect((await patch(narrow, id, { display_name: 'Another name' })).status).toBe(200);
  expect((await patch(admin, id, { status: 'enabled' })).status).toBe(200);
  // Nor does anybody else close it, or take from it: that is the way in of people who may do more.
  expect(refusalOf(await patch(narrow, id, { status: 'disabled' }))).toEqual(escalation('status'));
  expect(refusalOf(await patch(narrow, id, { account_linking: 'ask' }))).toEqual(escalation('account_linking'));
  const lowered = await patch(admin, id, { account_linking: 'ask', issuer: 'https://elsewhere.example' });
  expect(lowered.body['data'].attributes).toMatchObject({ generation: 2, trusted: true });
});

test('a required connection is opened, closed, moved and deleted by holders of everything alone', async () => {
  const { id } = await make(admin, { domains: ['corp.example'], required: true });
  expect(refusalOf(await patch(narrow, id, { required: false }))).toEqual(escalation('required'));
  expect(refusalOf(await patch(narrow, id, { status: 'disabled' }))).toEqual(escalation('status'));
  expect(refusalOf(await patch(narrow, id, { issuer: 'https://evil.example' }))).toEqual(escalation('issuer'));
  expect(refusalOf(await narrow.delete(`/connections/${id}`)).slice(0, 2)).toEqual([403, 'scope_escalation']);
  expect((await admin.delete(`/connections/${id}`)).status).toBe(204);
});

test('required names the domains that it is required for: 422 without', async () => {
  const missing = [422, 'required', '/data/attributes/domains'];
  const bare = await admin.attempt('connections', attributes({ required: true }));
  expect(refusalOf(bare).slice(0, 2)).toEqual(missing.slice(0, 2));
  const { id } = await make(admin, { domains: ['corp.example'] });
  expect(refusalOf(await patch(admin, id, { required: true, domains: [] }))).toEqual(missing);
  expect((await patch(admin, id, { required: true })).status).toBe(200);
  expect(refusalOf(await patch(admin, id, { domains: [] }))).toEqual(missing);
});

test.each([
  ['leads the provider elsewhere', {}, { issuer: 'https://evil.example' }],
  ['believes addresses', {}, { options: { trust_email: true } }],
  ['opens it to new people', { allow_registration: false }, { allow_registration: true }],
  ['switches it on for new people', { status: 'disabled' }, { status: 'enabled' }],
])('whoever %s without holding everything takes the trust away, and can not ask to keep it', async (_what, before, change) => {
  const { id } = await make(admin, before);
  expect(refusalOf(await patch(narrow, id, { ...change, trusted: true }))).toEqual(escalation('trusted'));
  expect((await patch(narrow, id, { display_name: 'Same', trusted: true })).body['data'].attributes).toMatchObject({ trusted: true });
  expect((await patch(narrow, id, change)).body['data'].attributes).toMatchObject({ ...change, trusted: false });
  expect((await patch(admin, id, { display_name: 'Other' })).body['data'].attributes).toMatchObject({ trusted: false });
  expect((await patch(admin, id, { trusted: true })).body['data'].attributes).toMatchObject({ trusted: true });
});

/** What of them can be written once the connection is made. */
const elsewhere: Record<Exclude<(typeof identityDeciding)[number], 'strategy'>, object> = {
  issuer: { issuer: 'https://evil.example' },
  authorization_endpoint: { authorization_endpoint: 'https://evil.example/a' },
  token_endpoint: { token_endpoint: 'https://evil.example/t' },
  userinfo_endpoint: { userinfo_endpoint: 'https://evil.example/u' },
  jwks_uri: { jwks_uri: 'https://evil.example/k' },
  provider_client_id: { provider_client_id: 'evil' },
  claim_mapping: { claim_mapping: { email: 'nickname' } },
};
const led = identityDeciding.filter((name) => name !== 'strategy');

test.each(led)(
  'who changes %s without holding everything takes the domains away, and can not ask to keep them (attack 22.914)',
  async (name) => {
    const domains = ['corp.example'];
    const { id } = await make(admin, { domains });
    expect(refusalOf(await patch(narrow, id, { ...elsewhere[name], domains }))).toEqual(escalation('domains'));
    expect((await patch(narrow, id, { display_name: 'Same', domains })).body['data'].attributes).toMatchObject({ domains });
    expect((await patch(narrow, id, elsewhere[name])).body['data'].attributes).toMatchObject({ domains: [], trusted: false });
    expect(refusalOf(await patch(narrow, id, { domains }))).toEqual(escalation('domains'));
    const kept = await make(admin, { domains });
    expect((await patch(admin, kept.id, elsewhere[name])).body['data'].attributes).toMatchObject({ domains, trusted: true });
  },
);

test('neither a dashboard form nor a configuration document keeps the domains of a connection that it leads elsewhere (attack 22.914)', async () => {
  const { id, attributes: made } = await make(admin, { domains: ['corp.example'] });
  const browser = await signedInWith(service, 'connections:read', 'connections:write');
  const page = `/dashboard/connections/${id}`;
  const fields = formValues(await (await browser.get(`${page}/edit`)).text());
  expect((await browser.post(page, { ...fields, issuer: 'https://evil.example' })).headers.get('location')).toContain('done=updated');
  expect((await admin.get(`/connections/${id}`)).body['data'].attributes).toMatchObject({ issuer: 'https://evil.example', domains: [] });

  const { name } = made as { name: string };
  const restored = { issuer: 'https://id.corp.example', domains: ['corp.example'] };
  expect((await patch(admin, id, restored)).status).toBe(200);
  const described = { name, display_name: 'Corp', strategy: 'oidc', provider_client_id: 'us', issuer: 'https://more-evil.example', domains: ['corp.example'] }; // prettier-ignore
  const applier = await manage(service.url, 'environments:read connections:read connections:write');
  expect((await apply(applier, { version: 1, connections: [described] })).status).toBe(200);
  expect((await admin.get(`/connections/${id}`)).body['data'].attributes).toMatchObject({ issuer: described.issuer, domains: [] });
  const again = await apply(applier, { version: 1, connections: [described] });
  expect([again.status, problemsOf(again)]).toEqual([403, ['scope_escalation /meta/document/connections/0/domains']]);
});

const secretive = { provider_client_secret: 'what the provider has given us' };
const secretNeeded = [422, 'secret_required', '/data/attributes'];

test.each<[string, object, object]>([
  ['another issuer', {}, { issuer: 'https://evil.example' }],
  ['the same issuer without TLS', {}, { issuer: 'http://id.corp.example' }],
  ['a token endpoint elsewhere', {}, { token_endpoint: 'https://evil.example/token' }],
  ['the token endpoint of GitHub', { strategy: 'github', issuer: null }, { token_endpoint: 'https://evil.example/token' }],
  ['the issuer of Google', { strategy: 'google', issuer: null }, { issuer: 'https://evil.example' }],
  [
    'an issuer that is asked once an endpoint is away',
    {
      token_endpoint: 'https://id.corp.example/token',
      authorization_endpoint: 'https://id.corp.example/auth',
      jwks_uri: 'https://id.corp.example/keys',
    },
    { issuer: 'https://evil.example' },
  ],
])('a connection that is led to another server takes no stored secret there: %s (attack 22.800)', async (_what, before, change) => {
  const { id } = await make(admin, { ...secretive, ...before });
  for (const api of [narrow, admin]) expect(refusalOf(await patch(api, id, change))).toEqual(secretNeeded);
  expect((await admin.get(`/connections/${id}`)).body['data'].attributes).toMatchObject({ has_client_secret: true, generation: 1 });
  expect((await patch(narrow, id, { ...change, provider_client_secret: 'for the other one' })).status).toBe(200);
});

test('a connection that stays with its servers keeps its secret; without one it goes anywhere', async () => {
  const { id } = await make(admin, { ...secretive, token_endpoint: 'https://token.corp.example/token' });
  for (const change of [
    { issuer: 'https://id.corp.example/realms/b' },
    { token_endpoint: 'https://token.corp.example/v2' },
    { token_endpoint: 'https://id.corp.example/token' },
    { token_endpoint: null },
    { jwks_uri: 'https://keys.example', userinfo_endpoint: 'https://users.example' },
  ])
    expect((await patch(narrow, id, change)).status).toBe(200);
  // What it went to once is another server by now.
  expect(refusalOf(await patch(narrow, id, { token_endpoint: 'https://token.corp.example/token' }))).toEqual(secretNeeded);
  expect((await patch(narrow, id, { issuer: 'https://evil.example', provider_client_secret: null })).status).toBe(200);
  expect((await patch(narrow, id, { issuer: 'https://another.example' })).body['data'].attributes).toMatchObject({
    has_client_secret: false,
  });
});

test('the form that leads a connection elsewhere says what is missing, and changes nothing (attack 22.800)', async () => {
  const { id } = await make(narrow, secretive);
  const browser = await signedInWith(service, 'connections:read', 'connections:write');
  const html = await (await browser.get(`/dashboard/connections/${id}/edit`)).text();
  const fields = Object.fromEntries(
    [...html.matchAll(/<input[^>]* name="(_version|_changed|version)"[^>]* value="([^"]*)"/g)].map(([, field, value]) => [field, value]),
  );
  const form = { ...fields, _csrf: csrfOf(html), display_name: 'Corp', provider_client_id: 'us', status: 'enabled', account_linking: 'ask', profile_sync: 'on_create', second_factor: 'own', issuer: 'https://evil.example', provider_client_secret: '' }; // prettier-ignore
  const answer = await browser.post(`/dashboard/connections/${id}`, form);
  expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('would be sent to another server')]);
  expect((await admin.get(`/connections/${id}`)).body['data'].attributes).toMatchObject({ issuer: 'https://id.corp.example' });
});

test('a dashboard form is no way round: the same refusal, and nothing is made (attack 22.236)', async () => {
  const browser = await signedInWith(service, 'connections:read', 'connections:write');
  const html = await (await browser.get('/dashboard/connections/new')).text();
  const once = /name="_once" value="([^"]+)"/.exec(html)?.[1];
  const fields = {
    _csrf: csrfOf(html), ...(once !== undefined && { _once: once }), strategy: 'oidc', name: 'by-form', display_name: 'Form', provider_client_id: 'us',
    issuer: 'https://id.corp.example', account_linking: 'verified_email', status: 'enabled', profile_sync: 'on_create',
  }; // prettier-ignore
  const refused = await browser.post('/dashboard/connections', fields);
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('You can’t grant more than you have.')]);
  expect((await admin.get('/connections?filter[name]=by-form')).body['data']).toEqual([]);
});
