// What whoever has a set-up link can do with it: its parts, in one browser, as long as it is good; and nothing else.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser, csrfOf } from '../support/browser.js';
import { manage, startManagedService, type Api, type Document } from '../support/management.js';
import { addConnection } from '../support/connections.js';
import { addSetupLink, openedBy, type TestSetupLink } from '../support/setup-links.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { startUpstreamOidc, type UpstreamOidc } from '../support/upstream-oidc.js';

const records = new Map<string, string[]>();
const txtLookup = async (name: string) => records.get(name) ?? [];
const service = sharedService(() => startManagedService({}, { overrides: { txtLookup } }));
const api: Api = shared(() => manage(service.url));
const ctx = contextOf(service);
let upstream: UpstreamOidc;
let number = 0;

beforeAll(async () => {
  const account = { sub: 'ada', email: 'ada@set-up.example', email_verified: true };
  upstream = await startUpstreamOidc({ callback: `${service.url}/auth/sso/callback`, account });
});
afterAll(() => upstream?.close());

const ofOrganization = async (path: string, { organization }: TestSetupLink) =>
  (await api.get(`/${path}?filter[organization]=${organization['id']}`)).body['data'] as Document[];
const pageOf = async (browser: Browser, path: string) => (await browser.get(path)).text();
const idIn = (html: string) => /id="domain-([\w-]{36})"/.exec(html)?.[1] ?? '';

/** Adds a domain on the page, with its record in the DNS. */
async function addProven(browser: Browser, link: TestSetupLink): Promise<{ domain: string; id: string }> {
  const domain = `set-up-${(number += 1)}.example`;
  expect((await browser.submit(`${link.inside}/domains`, { domain })).status).toBe(303);
  const [row] = (await ofOrganization('organization_domains', link)).filter(({ attributes }) => attributes.domain === domain);
  const record = row?.['attributes'].verification_records[0];
  records.set(record.name, [record.value]);
  return { domain, id: row?.['id'] };
}

const oidc = () => ({
  issuer: upstream.issuer,
  provider_client_id: 'the-service',
  provider_client_secret: 'provider secret, 32 characters ok',
});
const choice = { provider: 'other', protocol: 'oidc' };

async function connect(browser: Browser, { inside }: TestSetupLink, fields: Record<string, string> = oidc()): Promise<Response> {
  const page = `${inside}/connection?${new URLSearchParams(choice).toString()}`;
  return browser.submit(page, { ...choice, ...fields }, `${inside}/connection`);
}

test('a GET shows whose link it is and changes nothing; a POST makes it this browser’s (specification 16.9.3)', async () => {
  const link = await addSetupLink(api);
  const browser = new Browser(service.url);
  const page = await browser.get(link.path);
  expect([page.status, page.headers.get('referrer-policy'), page.headers.get('cache-control')]).toEqual([200, 'no-referrer', 'no-store']);
  const html = await page.text();
  for (const text of [link.organization['attributes'].display_name, 'Domains', 'Single sign-on', 'Directory']) expect(html).toContain(text);
  expect((await api.get(`/setup_links/${link.record['id']}`)).body['data'].attributes.status).toBe('pending');
  expect((await browser.get(`${link.path}/domains`)).headers.get('location')).toBe(link.path);
  const begun = await browser.submit(link.path, {});
  expect([begun.status, begun.headers.get('location')]).toEqual([303, link.inside]);
  expect((await browser.get(link.path)).headers.get('location')).toBe(link.inside);
  expect(await pageOf(browser, link.inside)).toContain('To do');
});

test.each([
  [['connection'], 'You need access to your identity provider.'],
  [['connection', 'directory'], 'You need access to your identity provider.'],
  [['domains'], 'You need access to the DNS of your email domains.'],
  [['domains', 'connection'], 'You need access to your identity provider and to the DNS of your email domains.'],
] as const)('a link with %j says what it takes to set that up, and no more (specification 16.9.3)', async (parts, needs) => {
  const { path } = await addSetupLink(api, parts);
  const html = await pageOf(new Browser(service.url), path);
  expect(html).toContain(needs);
  expect(html.includes('DNS')).toBe(needs.includes('DNS'));
});

test('its pages look like the organization and say whose service it is; one that is no longer good does not (specification 16.9.3)', async () => {
  const link = await addSetupLink(api);
  const { id, attributes } = link.organization as { id: string; attributes: Document };
  const branding = { logo_url: 'https://acme.example/logo.png', primary_color: '#0b6b3a' };
  await api.update('organizations', id, { branding });
  const looks = [`src="${branding.logo_url}" alt="${attributes['display_name']}"`, '0b6b3a'];
  const welcome = await pageOf(new Browser(service.url), link.path);
  for (const shown of [...looks, `${ctx.environment.name} asks you`]) expect(welcome).toContain(shown);
  const browser = await openedBy(service.url, link);
  for (const path of ['', '/domains', '/connection', '/directory'])
    for (const shown of looks) expect(await pageOf(browser, `${link.inside}${path}`)).toContain(shown);
  const elsewhere = await pageOf(new Browser(service.url), link.path);
  for (const shown of looks) expect(elsewhere).not.toContain(shown);
});

test('no other browser opens it then, by its token or its id (attack 49.1411)', async () => {
  const link = await addSetupLink(api);
  await openedBy(service.url, link);
  const other = new Browser(service.url);
  const refused = await other.get(link.path);
  expect([refused.status, (await refused.text()).includes('opened in another browser')]).toEqual([403, true]);
  const _csrf = csrfOf(await pageOf(other, '/login'));
  for (const path of ['', '/domains', '/connection', '/directory', '/finish']) {
    expect((await other.post(`${link.path}${path}`, { _csrf, domain: 'stolen.example' })).status).toBe(403);
    expect((await other.post(`${link.inside}${path}`, { _csrf, domain: 'stolen.example' })).status).toBe(404);
  }
  expect(await ofOrganization('organization_domains', link)).toHaveLength(0);
});

test('two browsers that open it at once: one has it (attack 49.1412)', async () => {
  const link = await addSetupLink(api);
  const answers = await Promise.all([1, 2, 3].map(() => new Browser(service.url).submit(link.path, {})));
  expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403]);
});

test('finished, revoked, expired, guessed, of a disabled organization: one page each, and nothing is done (attack 49.1413)', async () => {
  const [finished, revoked, disabled] = [await addSetupLink(api), await addSetupLink(api), await addSetupLink(api)];
  const browsers = new Map<TestSetupLink, Browser>();
  for (const link of [finished, revoked, disabled]) browsers.set(link, await openedBy(service.url, link));
  const done = await (browsers.get(finished) as Browser).submit(finished.inside, {}, `${finished.inside}/finish`);
  expect([done.status, (await done.text()).includes('Set-up finished')]).toEqual([200, true]);
  await api.patch(`/setup_links/${revoked.record['id']}/revoke`);
  const id = disabled.organization['id'];
  await api.update('organizations', id, { status: 'disabled' });
  for (const [link, status, text] of [
    [finished, 410, 'This set-up was finished'],
    [revoked, 410, 'This link was revoked'],
    [disabled, 404, 'This link isn’t valid'],
  ] as const) {
    const browser = browsers.get(link) as Browser;
    const _csrf = csrfOf(await pageOf(browser, '/login'));
    for (const path of [link.path, link.inside, `${link.inside}/domains`]) {
      const answer = await browser.get(path);
      expect([answer.status, (await answer.text()).includes(text)]).toEqual([status, true]);
    }
    for (const path of ['', '/domains', '/connection', '/directory', '/finish'])
      expect((await browser.post(`${link.inside}${path}`, { _csrf, domain: 'late.example' })).status).toBe(status);
    expect(await ofOrganization('organization_domains', link)).toHaveLength(0);
    expect(await ofOrganization('directories', link)).toHaveLength(0);
  }
  for (const path of [`/setup/su_${'A'.repeat(43)}`, '/setup/x', '/setup/%00', `/setup/${finished.organization['id']}`])
    expect((await new Browser(service.url).get(path)).status).toBe(404);
});

test('a link that is past its time is worth nothing, opened or not (attack 49.1413)', async () => {
  const later = await startManagedService();
  try {
    const other = await manage(later.url);
    const [opened, unopened] = [
      await addSetupLink(other, ['domains'], { expires_in: 3600 }),
      await addSetupLink(other, ['domains'], { expires_in: 3600 }),
    ];
    const browser = await openedBy(later.url, opened);
    later.clock.advance(3_600_000);
    for (const path of [opened.path, opened.inside, `${opened.inside}/domains`]) {
      const answer = await browser.get(path);
      expect([answer.status, (await answer.text()).includes('expired')]).toEqual([410, true]);
    }
    expect((await new Browser(later.url).get(unopened.path)).status).toBe(410);
  } finally {
    await later.stop();
  }
});

test('another site does nothing in the name of a browser that has a link (attack 43.1337)', async () => {
  const link = await addSetupLink(api);
  expect((await new Browser(service.url).post(link.path, {})).status).toBe(403);
  const browser = await openedBy(service.url, link);
  for (const path of ['/domains', '/connection', '/connection/test', '/connection/enable', '/directory', '/finish'])
    expect((await browser.post(`${link.inside}${path}`, { domain: 'csrf.example' })).status).toBe(403);
  expect(await ofOrganization('organization_domains', link)).toHaveLength(0);
});

test('what is no part of the link is not there (attack 49.1415)', async () => {
  const link = await addSetupLink(api, ['domains']);
  const browser = await openedBy(service.url, link);
  const html = await pageOf(browser, link.inside);
  expect([html.includes('Domains'), html.includes('/connection'), html.includes('/directory')]).toEqual([true, false, false]);
  for (const part of ['connection', 'directory', 'members']) expect((await browser.get(`${link.inside}/${part}`)).status).toBe(404);
  const _csrf = csrfOf(html);
  for (const path of ['/connection', '/connection/test', '/connection/enable', '/directory'])
    expect((await browser.post(`${link.inside}${path}`, { _csrf, ...choice, ...oidc() })).status).toBe(404);
  expect(await ofOrganization('connections', link)).toHaveLength(0);
  expect(await ofOrganization('directories', link)).toHaveLength(0);
  for (const path of ['/dashboard', '/account']) expect((await browser.get(path)).headers.get('location')).toContain('/login');
});

test('a domain is added, looked for, verified, and taken away while it waits (specification 16.9.4)', async () => {
  const link = await addSetupLink(api, ['domains']);
  const browser = await openedBy(service.url, link);
  const at = `${link.inside}/domains`;
  await browser.submit(at, { domain: 'Waits.Example.' });
  const waiting = await pageOf(browser, at);
  for (const text of ['waits.example', '_identity-verification.waits.example', 'identity-verification=', 'TXT'])
    expect(waiting).toContain(text);
  const id = idIn(waiting);
  expect((await browser.submit(at, {}, `${at}/${id}/verify`)).status).toBe(303);
  expect(await pageOf(browser, at)).toContain('The record wasn’t found yet.');
  expect((await browser.submit(at, {}, `${at}/${id}/remove`)).status).toBe(303);
  const { domain, id: proven } = await addProven(browser, link);
  await browser.submit(at, {}, `${at}/${proven}/verify`);
  expect(await pageOf(browser, at)).toContain('Verified');
  expect((await browser.submit(at, {}, `${at}/${proven}/remove`)).status).toBe(404);
  const domains = await ofOrganization('organization_domains', link);
  expect(domains.map(({ attributes: a }) => [a.domain, a.status])).toEqual([[domain, 'verified']]);
  expect(await pageOf(browser, link.inside)).toContain('Done');
});

test.each([
  ['nothing', '', 'Fill in this field.'],
  ['no domain', 'not a domain', 'Enter a domain of your company'],
  ['a mail provider', 'gmail.com', 'Enter a domain of your company'],
  ['a public suffix', 'co.uk', 'Enter a domain of your company'],
  ['one that is far too long', 'x'.repeat(5000), 'Enter a domain of your company'],
])('%s is no domain of the organization: 422 (specification 16.9.4)', async (_what, domain, text) => {
  const link = await addSetupLink(api, ['domains']);
  const browser = await openedBy(service.url, link);
  const answer = await browser.submit(`${link.inside}/domains`, { domain });
  expect([answer.status, (await answer.text()).includes(text)]).toEqual([422, true]);
});

test('a domain that another organization has proven, and domains without end, are refused (attacks 49.1416, 43.1422)', async () => {
  const [first, second] = [await addSetupLink(api, ['domains']), await addSetupLink(api, ['domains'])];
  const [one, other] = [await openedBy(service.url, first), await openedBy(service.url, second)];
  const { domain, id } = await addProven(one, first);
  await one.submit(`${first.inside}/domains`, {}, `${first.inside}/domains/${id}/verify`);
  const at = `${second.inside}/domains`;
  await other.submit(at, { domain });
  const [claim] = await ofOrganization('organization_domains', second);
  const record = claim?.['attributes'].verification_records[0];
  records.set(record.name, [record.value]);
  const refused = await other.submit(at, {}, `${at}/${claim?.['id']}/verify`);
  expect([refused.status, (await refused.text()).includes('Another organization has verified this domain.')]).toEqual([409, true]);
  for (const verb of ['verify', 'remove', 'other']) expect((await other.submit(at, {}, `${at}/${id}/${verb}`)).status).toBe(404);
  expect((await other.submit(at, { domain })).status).toBe(422);
  for (let more = 1; more < 50; more += 1) expect((await other.submit(at, { domain: `more-${more}.example` })).status).toBe(303);
  expect((await other.submit(at, { domain: 'one-too-many.example' })).status).toBe(409);
});

test('a connection is made disabled, tested, enabled, and never shows its secret (specification 16.9.5)', async () => {
  const link = await addSetupLink(api, ['domains', 'connection']);
  const browser = await openedBy(service.url, link);
  const at = `${link.inside}/connection`;
  const guide = await pageOf(browser, `${at}?provider=entra&protocol=saml`);
  for (const text of [
    `/auth/sso/${link.record['id']}/callback`,
    `/auth/sso/${link.record['id']}/metadata`,
    'Reply URL',
    'App Federation Metadata Url',
  ])
    expect(guide).toContain(text);
  expect((await connect(browser, link)).status).toBe(303);
  const [connection] = await ofOrganization('connections', link);
  expect(connection?.['id']).toBe(link.record['id']);
  expect(connection?.['attributes']).toMatchObject({
    status: 'disabled',
    strategy: 'oidc',
    has_client_secret: true,
    account_linking: 'verified_email',
  });
  expect((await api.get(`/setup_links/${link.record['id']}/connection`)).body['data'].id).toBe(connection?.['id']);
  const html = await pageOf(browser, at);
  expect([html.includes(upstream.issuer), html.includes('provider secret')]).toEqual([true, false]);
  const early = await browser.submit(at, {}, `${at}/enable`);
  expect([early.status, (await early.text()).includes('Test it first.')]).toEqual([409, true]);

  // Its provider's people are in no proven domain yet.
  const tried = await testSignIn(browser, at);
  expect([tried.includes('isn’t in a verified domain'), tried.includes('ada@set-up.example')]).toEqual([true, true]);
  expect((await browser.submit(at, {}, `${at}/enable`)).status).toBe(409);
  const { domain, id } = await addProven(browser, link);
  await browser.submit(`${link.inside}/domains`, {}, `${link.inside}/domains/${id}/verify`);
  upstream.account = { sub: 'ada', email: `ada@${domain}`, given_name: 'Ada' };
  const worked = await testSignIn(browser, at);
  for (const text of ['It works.', `ada@${domain}`, 'given_name', at]) expect(worked).toContain(text);

  // A change after the test asks for another one.
  expect((await browser.submit(at, { ...oidc(), provider_client_secret: '' }, at)).status).toBe(303);
  expect((await browser.submit(at, {}, `${at}/enable`)).status).toBe(409);
  await testSignIn(browser, at);
  expect((await browser.submit(at, {}, `${at}/enable`)).headers.get('location')).toBe(at);
  expect((await ofOrganization('connections', link))[0]?.['attributes'].status).toBe('enabled');
  expect((await browser.submit(at, {}, `${at}/remove`)).status).toBe(409);
  expect((await browser.submit(at, {}, `${at}/disable`)).status).toBe(303);
  expect((await browser.submit(at, {}, `${at}/remove`)).status).toBe(303);
  expect(await ofOrganization('connections', link)).toHaveLength(0);
  expect(await pageOf(browser, at)).toContain('Identity provider');
  for (const verb of ['test', 'enable', 'other', 'constructor'])
    expect((await browser.submit(link.inside, {}, `${at}/${verb}`)).status).toBe(404);
});

/** Tests the sign-in as the page leads, through the provider and back; the page at its end. */
async function testSignIn(browser: Browser, at: string): Promise<string> {
  const begun = await browser.submit(at, {}, `${at}/test`);
  const own = new URL(begun.headers.get('location') ?? '');
  const away = await browser.get(`${own.pathname}${own.search}`);
  const provider = new Browser(upstream.issuer);
  const asked = await provider.get(pathIn(away.headers.get('location')));
  const signedIn = await provider.post(pathIn(asked.headers.get('location')), {});
  const back = await provider.get(pathIn(signedIn.headers.get('location')));
  return pageOf(browser, pathIn(back.headers.get('location')));
}
const pathIn = (address: string | null) => {
  const { pathname, search } = new URL(address ?? '', upstream.issuer);
  return `${pathname}${search}`;
};

test.each([
  ['nothing', { issuer: '', provider_client_id: '', provider_client_secret: '' }, 'Fill in this field.'],
  ['an address on plain http', { issuer: 'ftp://idp.example' }, 'Enter an https:// address'],
])('a connection with %s is refused: 422 (specification 16.9.5)', async (_what, fields, text) => {
  const link = await addSetupLink(api, ['connection']);
  const browser = await openedBy(service.url, link);
  const answer = await connect(browser, link, { ...oidc(), ...fields });
  const html = await answer.text();
  expect([answer.status, html.includes(text), html.includes('provider secret')]).toEqual([422, true, false]);
  expect(await ofOrganization('connections', link)).toHaveLength(0);
});

test.each([
  ['without metadata', {}, 'Fill in this field.'],
  ['with the URL and the XML', { idp_metadata_url: 'https://idp.example/metadata', idp_metadata_xml: '<x/>' }, 'not both'],
  ['with XML that is none', { idp_metadata_xml: 'no XML' }, 'This isn’t SAML metadata'],
  ['with an address that is none', { idp_metadata_url: 'nowhere' }, 'Enter an https:// address'],
])('a SAML connection %s is refused: 422 (specification 16.9.5)', async (_what, fields, text) => {
  const link = await addSetupLink(api, ['connection']);
  const browser = await openedBy(service.url, link);
  const saml = { provider: 'other', protocol: 'saml' };
  const answer = await browser.submit(
    `${link.inside}/connection?${new URLSearchParams(saml).toString()}`,
    { ...saml, ...fields },
    `${link.inside}/connection`,
  );
  expect([answer.status, (await answer.text()).includes(text)]).toEqual([422, true]);
});

test('an unknown provider or protocol is asked for again: 422 (specification 16.9.5)', async () => {
  const link = await addSetupLink(api, ['connection']);
  const browser = await openedBy(service.url, link);
  const at = `${link.inside}/connection`;
  for (const fields of [{}, { provider: 'constructor', protocol: 'saml' }, { provider: 'okta', protocol: 'x' }])
    expect((await browser.submit(link.inside, fields, at)).status).toBe(422);
});

test('the link touches no connection that it has not made (attack 49.1417)', async () => {
  const link = await addSetupLink(api, ['connection']);
  const organization = { data: { type: 'organization', id: link.organization['id'] } };
  const own = { name: 'earlier', display_name: 'Earlier', strategy: 'oidc', provider_client_id: 'x', issuer: 'https://earlier.example' };
  const earlier = await api.create('connections', own, { organization });
  const browser = await openedBy(service.url, link);
  const at = `${link.inside}/connection`;
  expect(await pageOf(browser, at)).not.toContain('earlier.example');
  for (const verb of ['test', 'enable', 'disable', 'remove'])
    expect((await browser.submit(link.inside, {}, `${at}/${verb}`)).status).toBe(404);
  expect((await api.get(`/connections/${earlier['id']}`)).body['data'].attributes.status).toBe('enabled');
});

test('an organization with fifty connections gets no other one by a link, and the page says why (attack 70.1954)', async () => {
  const link = await addSetupLink(api);
  const browser = await openedBy(service.url, link);
  const organization_id = link.organization['id'] as string;
  const [first] = await Promise.all(Array.from({ length: 50 }, () => addConnection(ctx, { organization_id })));
  const refused = await connect(browser, link);
  expect([refused.status, (await refused.text()).includes('You’ve reached the limit for these.')]).toEqual([422, true]);
  expect((await api.delete(`/connections/${first?.id}`)).status).toBe(204);
  expect((await connect(browser, link)).status).toBe(303);
});

test('a test sign-in tells nobody whether there is an account (attack 49.1418)', async () => {
  const link = await addSetupLink(api, ['domains', 'connection']);
  const browser = await openedBy(service.url, link);
  await connect(browser, link);
  const { domain, id } = await addProven(browser, link);
  await browser.submit(`${link.inside}/domains`, {}, `${link.inside}/domains/${id}/verify`);
  await api.create('users', { email: `known@${domain}`, email_verified: true });
  const pages = [];
  for (const name of ['known', 'other']) {
    upstream.account = { sub: name, email: `${name}@${domain}` };
    pages.push(
      (await testSignIn(browser, `${link.inside}/connection`))
        .replaceAll(/known|other|[\w-]{36}|nonce[^,]*/g, '')
        .match(/<main[\s\S]*<\/dl>/)?.[0],
    );
  }
  expect(pages[0]).toBe(pages[1]);
  expect(await ctx.db.knex('identities').where({ connection_id: link.record['id'] })).toHaveLength(0);
});

test('a directory’s token is shown once, and another one made at will (specification 16.9.6, attack 49.1419)', async () => {
  const link = await addSetupLink(api, ['directory']);
  const browser = await openedBy(service.url, link);
  const at = `${link.inside}/directory`;
  const first = await pageOf(browser, at);
  const shown = await (await browser.submit(at, { version: '0' })).text();
  const token = /scim_[\w-]{43}/.exec(shown)?.[0] ?? '';
  const [directory] = await ofOrganization('directories', link);
  expect(shown).toContain(directory?.['attributes'].base_url);
  const scim = (bearer: string) => fetch(`${directory?.['attributes'].base_url}/Users`, { headers: { authorization: `Bearer ${bearer}` } });
  expect((await scim(token)).status).toBe(200);
  const html = await pageOf(browser, at);
  expect([html.includes(token), html.includes(`ending in ${token.slice(-4)}`)]).toEqual([false, true]);
  // The form that was sent already makes no other.
  const again = await browser.post(at, { _csrf: csrfOf(first), version: '0' });
  expect([again.status, /scim_[\w-]{43}/.test(await again.text())]).toEqual([409, false]);
  const next = /scim_[\w-]{43}/.exec(await (await browser.submit(at, { version: '1' })).text())?.[0] ?? '';
  expect([(await scim(next)).status, (await scim(token)).status]).toEqual([200, 200]);
  expect((await browser.submit(at, { version: '1' })).status).toBe(409);
});

test('every step is in the audit log, with the link as the actor (specification 16.9.7)', async () => {
  const link = await addSetupLink(api);
  const browser = await openedBy(service.url, link);
  await addProven(browser, link);
  await connect(browser, link);
  await browser.submit(`${link.inside}/directory`, { version: '0' });
  await browser.submit(link.inside, {}, `${link.inside}/finish`);
  const entries = (await api.get('/audit_logs?sort=-occurred_at')).body['data'] as Document[];
  const own = entries.filter(({ attributes: a }) => a.actor?.actor_id === link.record['id'] && a.action !== 'security_setting.changed');
  expect(own.map(({ attributes: a }) => a.action).sort()).toEqual(
    ['connection.created', 'directory.created', 'organization_domain.created', 'setup_link.finished', 'setup_link.started'].sort(),
  );
  expect(JSON.stringify(own)).toContain(`A set-up link of ${link.organization['attributes'].display_name}`);
  expect(JSON.stringify(own)).not.toMatch(/su_|scim_[\w-]{43}/);
});
