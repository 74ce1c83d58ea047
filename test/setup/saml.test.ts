// A SAML connection that a customer sets up with a set-up link: tried as the page leads, then enabled (specification 16.9.5).
import { expect, test } from 'vitest';
import { callbackUrl, samlEntityId } from '../../src/domain/connections/connections.js';
import type { Browser } from '../support/browser.js';
import { manage, startManagedService, type Api, type Document } from '../support/management.js';
import { metadataXml, readRequest, samlKeyPair, type Told } from '../support/saml-provider.js';
import { answer, signedAssertion } from '../support/saml-sign-in.js';
import { addSetupLink, openedBy, type TestSetupLink } from '../support/setup-links.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const records = new Map<string, string[]>();
const service = sharedService(() => startManagedService({}, { overrides: { txtLookup: async (name: string) => records.get(name) ?? [] } }));
const api: Api = shared(() => manage(service.url));
const ctx = contextOf(service);
const saml = { provider: 'other', protocol: 'saml' };
const key = shared(() => samlKeyPair());

const ofOrganization = async (path: string, { organization }: TestSetupLink) =>
  (await api.get(`/${path}?filter[organization]=${organization['id']}`)).body['data'] as Document[];

/** A link with a proven domain and a connection, disabled. */
async function connected(domain: string) {
  const link = await addSetupLink(api, ['domains', 'connection']);
  const browser = await openedBy(service.url, link);
  const domains = `${link.inside}/domains`;
  await browser.submit(domains, { domain });
  const [claim] = await ofOrganization('organization_domains', link);
  const record = claim?.['attributes'].verification_records[0];
  records.set(record.name, [record.value]);
  await browser.submit(domains, {}, `${domains}/${claim?.['id']}/verify`);
  const at = `${link.inside}/connection`;
  const made = await browser.submit(
    `${at}?${new URLSearchParams(saml)}`,
    { ...saml, idp_metadata_xml: metadataXml([key.certificate]) },
    at,
  );
  expect(made.status).toBe(303);
  return { link, browser, at };
}

/** Presses "Test sign-in", and comes back with what the provider says; the page at its end. */
async function tried({ browser, at, link }: { browser: Browser; at: string; link: TestSetupLink }, said: Partial<Told>, by = key) {
  const begun = await browser.submit(at, {}, `${at}/test`);
  const own = new URL(begun.headers.get('location') ?? '');
  const page = await browser.get(`${own.pathname}${own.search}`);
  const away = page.headers.get('location') ?? /http-equiv="refresh" content="0; ?url=([^"]*)"/i.exec(await page.text())?.[1] ?? '';
  const request = readRequest(new URL(away.replaceAll('&amp;', '&')));
  const connection = { id: link.record['id'] as string, strategy: 'saml' };
  const told = {
    acs: callbackUrl(ctx.environment, connection),
    audience: samlEntityId(ctx.environment, connection),
    request_id: request.id,
    now: ctx.clock.now(),
    ...said,
  };
  const end = await answer(browser, connection, signedAssertion(told, by), request.relay_state);
  return { status: end.status, html: await end.text() };
}

test('it is tried with the claims of the person, and enabled as it was tried (specification 16.9.5)', async () => {
  const set = await connected('saml-set-up.example');
  const { browser, at, link } = set;
  expect((await browser.submit(at, {}, `${at}/enable`)).status).toBe(409);
  const email = 'ada@saml-set-up.example';
  const { status, html } = await tried(set, { attributes: { email, given_name: 'Ada' } });
  expect([status, browser.cookies.has('idp_session')]).toEqual([200, false]);
  for (const text of ['It works.', email, 'given_name', at]) expect(html).toContain(text);
  expect((await api.get(`/users?filter[email]=${email}`)).body['data']).toHaveLength(0);
  expect((await browser.submit(at, {}, `${at}/enable`)).headers.get('location')).toBe(at);
  expect((await ofOrganization('connections', link))[0]?.['attributes'].status).toBe('enabled');
  // Other metadata asks for another test.
  await browser.submit(at, { ...saml, idp_metadata_xml: metadataXml([(await samlKeyPair()).certificate]) }, at);
  await browser.submit(at, {}, `${at}/disable`);
  expect((await browser.submit(at, {}, `${at}/enable`)).status).toBe(409);
});

test.each([
  ['is in no verified domain', { attributes: { email: 'ada@elsewhere.example' } }, 'isn’t in a verified domain'],
  ['has no address', { attributes: {} }, 'email'],
  ['comes for another audience', { audience: 'https://other.example', attributes: {} }, 'audience:'],
  ['is declined', { status: 'Responder', attributes: {} }, 'Responder'],
])('nothing is enabled where who comes %s, and the page says so (specification 16.9.5, 16.7.8)', async (name, said, text) => {
  const set = await connected(`${name.replaceAll(' ', '-')}.example`);
  expect((await tried(set, said)).html).toContain(text);
  expect((await set.browser.submit(set.at, {}, `${set.at}/enable`)).status).toBe(409);
});

test('a stranger’s signature tries nothing (attack 49.1427)', async () => {
  const set = await connected('strangers.example');
  const { html } = await tried(set, { attributes: { email: 'ada@strangers.example' } }, await samlKeyPair());
  expect([html.includes('saml_invalid'), html.includes('signature:')]).toEqual([true, true]);
  expect((await set.browser.submit(set.at, {}, `${set.at}/enable`)).status).toBe(409);
});
