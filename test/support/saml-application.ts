// A SAML application: node-saml as the service provider, which makes the requests and verifies what it is answered.
import { deflateRawSync } from 'node:zlib';
import { SAML, ValidateInResponseTo, type Profile, type SamlConfig } from '@node-saml/node-saml';
import type { ClientRow } from '../../src/db/tables/clients.js';
import { samlKeys } from '../../src/domain/saml-certificates/saml-certificates.js';
import type { Context } from '../../src/domain/context.js';
import { withoutOAuth } from '../../src/domain/clients/saml.js';
import { Browser } from './browser.js';
import { addClient, type TestClient } from './data.js';

export const applicationId = 'https://wiki.example/saml';
export const acsUrl = 'https://wiki.example/saml/acs';

let counter = 0;

/** A SAML application; each has an entity ID of its own. */
export const addSamlClient = (ctx: Context, row: Partial<ClientRow> = {}): Promise<TestClient> =>
  addClient(ctx, {
    name: 'Acme Wiki',
    ...(withoutOAuth as unknown as Partial<ClientRow>),
    secret_digest: null,
    application_type: 'saml',
    saml_entity_id: `${applicationId}/${(counter += 1)}`,
    saml_acs_urls: [acsUrl],
    ...row,
  });

/** The application as its maker sets it up with our metadata. */
export async function applicationOf(ctx: Context, client: ClientRow, options: Partial<SamlConfig> = {}): Promise<SAML> {
  const { primary } = await samlKeys(ctx);
  return new SAML({
    entryPoint: `${ctx.environment.issuer}/saml/sso`,
    issuer: client.saml_entity_id ?? '',
    callbackUrl: client.saml_acs_urls[0] ?? '',
    idpCert: primary.pem,
    idpIssuer: `${ctx.environment.issuer}/saml/metadata`,
    audience: client.saml_entity_id ?? '',
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: true,
    validateInResponseTo: ValidateInResponseTo.always,
    // Tests have clocks of their own.
    acceptedClockSkewMs: -1,
    ...options,
  });
}

const pathOf = (url: string) => new URL(url).pathname + new URL(url).search;

/** Sends the browser with a request of the application's, and returns where it was answered. */
export async function ask(
  browser: Browser,
  application: SAML,
  relay_state = 'st-1',
  extra: Record<string, string> = {},
): Promise<Response> {
  const url = new URL(await application.getAuthorizeUrlAsync(relay_state, undefined, {}));
  for (const [name, value] of Object.entries(extra)) url.searchParams.set(name, value);
  return browser.get(pathOf(url.href));
}

/** The fields of the page that posts an answer, and where it does. */
export async function postedBy(
  response: Response,
): Promise<{ action: string; SAMLResponse: string; RelayState: string | null; xml: string }> {
  const html = await response.text();
  const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? null;
  const unescaped = (text: string) =>
    text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&#34;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
  const action = unescaped(/<form id="form-post" method="post" action="([^"]*)"/.exec(html)?.[1] ?? '');
  const relay = field('RelayState');
  const SAMLResponse = unescaped(field('SAMLResponse') ?? '');
  const xml = Buffer.from(SAMLResponse, 'base64').toString();
  return { action, SAMLResponse, RelayState: relay === null ? null : unescaped(relay), xml };
}

/** What the application makes of the answer. @throws what it refuses it with */
export async function takenBy(application: SAML, response: Response): Promise<Profile> {
  const { SAMLResponse } = await postedBy(response);
  const { profile } = await application.validatePostResponseAsync({ SAMLResponse });
  if (!profile) throw new Error('nobody signed in');
  return profile;
}

/** The codes of the status that an answer has, by their last parts. */
export async function statusOf(response: Response): Promise<string[]> {
  const { xml } = await postedBy(response);
  return [...xml.matchAll(/StatusCode Value="[^"]*:(\w+)"/g)].map(([, name = '']) => name);
}

/** What HTTP-Redirect puts in an address: the XML of a request, deflated. */
export const deflated = (xml: string): string => deflateRawSync(Buffer.from(xml)).toString('base64');

/** A request as an application of no library writes it. */
export const requestXml = (
  client: Pick<ClientRow, 'saml_entity_id'>,
  { attributes = '', content = '', id = '_r1' }: { attributes?: string; content?: string; id?: string } = {},
): string =>
  `<samlp:AuthnRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id}" Version="2.0" IssueInstant="2026-01-01T00:00:00Z"${attributes}>` +
  `<saml:Issuer>${client.saml_entity_id}</saml:Issuer>${content}</samlp:AuthnRequest>`;

/** Sends the browser with a request by HTTP-Redirect. */
export const sendRequest = (browser: Browser, xml: string, extra: Record<string, string> = {}): Promise<Response> =>
  browser.get(`/saml/sso?${new URLSearchParams({ SAMLRequest: deflated(xml), ...extra }).toString()}`);

/** Posts a request as the application's page does: from another site, and so without our cookies. */
export const postRequest = (browser: Browser, xml: string, extra: Record<string, string> = {}, path = '/saml/sso'): Promise<Response> =>
  new Browser(browser.origin).post(
    path,
    { SAMLRequest: Buffer.from(xml).toString('base64'), ...extra },
    { origin: 'https://wiki.example' },
  );

/** Follows a redirect of ours with the browser's cookies. */
export const follow = (browser: Browser, response: Response): Promise<Response> =>
  browser.get(pathOf(new URL(response.headers.get('location') ?? '', browser.origin).href));
