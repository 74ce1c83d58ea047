// What the set-up page tells the administrators of Entra ID, Okta and Google Workspace to click, followed: each provider with the metadata, the NameID and the
// names of attributes that its documentation has, from a link to the first sign-in and, where it provisions, the first person.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findConnection, type ConnectionRow } from '../../src/db/tables/connections.js';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { callbackUrl, samlEntityId } from '../../src/domain/connections/connections.js';
import { Browser } from '../support/browser.js';
import { sendScim } from '../support/directories.js';
import { manage, startManagedService, type Api, type Document } from '../support/management.js';
import {
  assertionXml,
  metadataXml,
  readRequest,
  responseXml,
  samlKeyPair,
  sign,
  type SamlKeyPair,
  type Told,
} from '../support/saml-provider.js';
import { answer, beginAt } from '../support/saml-sign-in.js';
import { addSetupLink, openedBy } from '../support/setup-links.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const records = new Map<string, string[]>();
const service = sharedService(() => startManagedService({}, { overrides: { txtLookup: async (name: string) => records.get(name) ?? [] } }));
const api: Api = shared(() => manage(service.url));
const ctx = contextOf(service);
let key: SamlKeyPair;
let host: Server;
/** What stands at the address of the metadata. */
let served = '';

beforeAll(async () => {
  key = await samlKeyPair();
  host = createServer((_req, res) => res.end(served)).listen(0, '127.0.0.1');
  await new Promise((resolve) => host.once('listening', resolve));
});
afterAll(() => new Promise((resolve) => host.close(resolve)));

const emailFormat = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
const claim = (name: string) => `http://schemas.xmlsoap.org/ws/2005/05/identity/claims/${name}`;
const microsoft = 'http://schemas.microsoft.com/identity/claims';

/** How each provider describes itself and people: `address` is where its metadata comes from, else it is a file. */
const providers = {
  // "SAML single sign-on for Microsoft Entra": a Response that isn't signed, an assertion that is; claims by their URIs.
  entra: {
    entity_id: 'https://sts.windows.net/0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef/',
    sso_url: 'https://login.microsoftonline.com/0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef/saml2',
    field: 'idp_metadata_url',
    shown: ['App Federation Metadata Url', 'Identifier (Entity ID)', 'Reply URL (Assertion Consumer Service URL)'],
    told: (email: string): Partial<Told> => ({
      name_id: email,
      format: emailFormat,
      attributes: {
        [`${microsoft}/tenantid`]: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
        [`${microsoft}/objectidentifier`]: '9d5a0ad1-54b4-44cc-a5a1-2c0d1a4f0a0b',
        [`${microsoft}/identityprovider`]: 'https://sts.windows.net/0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef/',
        [claim('givenname')]: 'Ada',
        [claim('surname')]: 'Lovelace',
        [claim('emailaddress')]: email,
        [claim('name')]: email,
      },
    }),
    signed: (xml: string) => xml,
  },
  // "Application Integration Wizard SAML field reference": Response and assertion signed, attribute statements as entered.
  okta: {
    entity_id: 'http://www.okta.com/exk1fcia6d6EMsf331d8',
    sso_url: 'https://acme.okta.com/app/acme_service_1/exk1fcia6d6EMsf331d8/sso/saml',
    field: 'idp_metadata_url',
    shown: ['Metadata URL', 'Single sign-on URL', 'Audience URI (SP Entity ID)', 'EmailAddress', 'user.firstName'],
    told: (email: string): Partial<Told> => ({
      name_id: email,
      format: emailFormat,
      attributes: { email, firstName: 'Ada', lastName: 'Lovelace' },
    }),
    signed: (xml: string) => sign(xml, 'Response', key),
  },
  // "Set up your own custom SAML app": metadata as a file, the assertion signed, mapped attributes as entered.
  google: {
    entity_id: 'https://accounts.google.com/o/saml2?idpid=C01abc23d',
    sso_url: 'https://accounts.google.com/o/saml2/idp?idpid=C01abc23d',
    field: 'idp_metadata_xml',
    shown: ['Download metadata', 'ACS URL', 'Entity ID', 'Basic Information › Primary email'],
    told: (email: string): Partial<Told> => ({
      name_id: email,
      format: emailFormat,
      attributes: { email, firstName: 'Ada', lastName: 'Lovelace' },
    }),
    signed: (xml: string) => xml,
  },
} as const;

const ofOrganization = async (path: string, { id }: Document) =>
  (await api.get(`/${path}?filter[organization]=${id}`)).body['data'] as Document[];

/** The link's pages with a domain that is proven. */
async function proven(domain: string) {
  const link = await addSetupLink(api);
  const browser = await openedBy(service.url, link);
  await browser.submit(`${link.inside}/domains`, { domain });
  const [waiting] = await ofOrganization('organization_domains', link.organization);
  const record = waiting?.['attributes'].verification_records[0];
  records.set(record.name, [record.value]);
  await browser.submit(`${link.inside}/domains`, {}, `${link.inside}/domains/${waiting?.['id']}/verify`);
  return { link, browser, at: `${link.inside}/connection` };
}

test.each(Object.keys(providers) as (keyof typeof providers)[])('%s by SAML, as the page says (specification 16.9.5)', async (provider) => {
  const { entity_id, sso_url, field, shown, told, signed } = providers[provider];
  const [domain, email] = [`${provider}-guide.example`, `ada@${provider}-guide.example`];
  const { link, browser, at } = await proven(domain);
  const choice = { provider, protocol: 'saml' };
  const form = `${at}?${new URLSearchParams(choice).toString()}`;
  const page = await (await browser.get(form)).text();
  const id = link.record['id'] as string;
  const connection = { id, strategy: 'saml' };
  const [acs, audience] = [callbackUrl(ctx.environment, connection), samlEntityId(ctx.environment, connection)];
  for (const text of [...shown, acs, audience]) expect(page).toContain(text);

  served = metadataXml([key.certificate], { entity_id, sso_url });
  const address = `http://127.0.0.1:${(host.address() as AddressInfo).port}/metadata`;
  const saved = await browser.submit(form, { ...choice, [field]: field === 'idp_metadata_url' ? address : served }, at);
  expect(saved.status).toBe(303);
  const response = (request_id: string) => {
    const said: Told = { acs, audience, request_id, now: ctx.clock.now(), issuer: entity_id, ...told(email) };
    return signed(responseXml(said, sign(assertionXml(said), 'Assertion', key)));
  };

  const begun = await browser.submit(at, {}, `${at}/test`);
  const own = new URL(begun.headers.get('location') ?? '');
  const away = (await browser.get(`${own.pathname}${own.search}`)).headers.get('location') ?? '';
  expect(away.slice(0, sso_url.length)).toBe(sso_url);
  const request = readRequest(new URL(away));
  const tested = await (await answer(browser, connection, response(request.id), request.relay_state)).text();
  for (const text of ['It works.', email]) expect(tested).toContain(text);
  expect((await browser.submit(at, {}, `${at}/enable`)).headers.get('location')).toBe(at);

  const visitor = new Browser(service.url);
  const made = (await findConnection(ctx.scope, id)) as ConnectionRow;
  const login = await beginAt(ctx, visitor, made);
  expect((await answer(visitor, made, response(login.request.id), login.request.relay_state)).status).toBe(303);
  expect(await findUserByEmailKey(ctx.scope, email)).toMatchObject({ first_name: 'Ada', last_name: 'Lovelace', email_verified: true });
});

test.each([
  ['entra', ['Tenant URL', 'Secret Token'], `userName eq "Test_User_dfeef4c5-5681-4387-b016-bdf221e82081"`],
  ['okta', ['SCIM connector base URL', 'HTTP Header'], 'userName eq "test.user@okta-people.example"'],
])('%s provisions with the URL and the token of the page (specification 16.9.6)', async (provider, words, filter) => {
  const domain = `${provider}-people.example`;
  const { link, browser } = await proven(domain);
  const page = await (await browser.submit(`${link.inside}/directory`, {})).text();
  for (const word of words) expect(page).toContain(word);
  const [url = '', token = ''] = [/https?:[^"<\s]+\/scim\/v2\/[\w-]+/.exec(page)?.[0], /scim_[\w-]{43}/.exec(page)?.[0]];
  const looked = await sendScim(`${url}/Users?filter=${encodeURIComponent(filter)}`, token, 'GET');
  expect([looked.status, looked.body.totalResults]).toEqual([200, 0]);
  const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User'];
  const made = await sendScim(`${url}/Users`, token, 'POST', { schemas, userName: `ada@${domain}`, active: true });
  expect(made.status).toBe(201);
  expect(await ofOrganization('organization_memberships', link.organization)).toHaveLength(1);
});
