// A sign-in through the SAML provider of `saml-provider.ts`, step by step.
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import type { Context } from '../../src/domain/context.js';
import { callbackUrl, samlEntityId } from '../../src/domain/connections/connections.js';
import { Browser } from './browser.js';
import { addConnection } from './connections.js';
import { assertionXml, entityId, readRequest, responseXml, sign, type SamlKeyPair, type Told } from './saml-provider.js';
import { startAt } from './sso.js';

export const person = { email: 'ada@corp.example', given_name: 'Ada', family_name: 'Lovelace' };

/** A connection with a provider that is described by hand, and speaks for `corp.example`. */
export const addSamlConnection = (
  ctx: Context,
  { certificate }: Pick<SamlKeyPair, 'certificate'>,
  options: Record<string, unknown> = {},
  row: Partial<ConnectionRow> = {},
) =>
  addConnection(ctx, {
    strategy: 'saml',
    issuer: null,
    provider_client_id: '',
    secret: null,
    domains: ['corp.example'],
    options: {
      idp_entity_id: entityId,
      idp_sso_url: 'https://provider.example/sso',
      idp_certificates: [certificate],
      trust_email: true,
      ...options,
    },
    ...row,
  });

/** What the provider is asked, and what an answer to it says unless told otherwise. */
export async function beginAt(ctx: Context, browser: Browser, connection: ConnectionRow, query: Record<string, string> = {}) {
  const request = readRequest(await startAt(browser, connection, query));
  const told: Told = {
    acs: callbackUrl(ctx.environment, connection),
    audience: samlEntityId(ctx.environment, connection),
    request_id: request.id,
    now: ctx.clock.now(),
    attributes: person,
  };
  return { request, told };
}

/** Posts a response as the provider's page does, without our cookies; the answer leads the browser on. */
export function post(origin: string, connection: Pick<ConnectionRow, 'id'>, xml: string, RelayState?: string): Promise<Response> {
  const SAMLResponse = Buffer.from(xml).toString('base64');
  const headers = { origin: 'https://provider.example' };
  return new Browser(origin).post(
    `/auth/sso/${connection.id}/callback`,
    { SAMLResponse, ...(RelayState !== undefined && { RelayState }) },
    headers,
  );
}

/** Posts it and follows with the browser's cookies. */
export async function answer(browser: Browser, connection: Pick<ConnectionRow, 'id'>, xml: string, relay_state: string): Promise<Response> {
  const posted = await post(browser.origin, connection, xml, relay_state);
  const location = posted.headers.get('location');
  return location === null ? posted : browser.get(new URL(location, browser.origin).pathname + new URL(location, browser.origin).search);
}

/** The response that a provider gives which signs its assertions. */
export const signedAssertion = (told: Told, key: SamlKeyPair): string => responseXml(told, sign(assertionXml(told), 'Assertion', key));
