import { samlEntityId } from '../../domain/connections/connections.js';
import { changedSamlProvider, samlProvider } from '../../domain/connections/saml-provider.js';
import { samlKeys } from '../../domain/saml-certificates/saml-certificates.js';
import { checkStatement, replayableUntil, requireSuccess } from '../../domain/saml/checks.js';
import { decodeResponse, readResponse } from '../../domain/saml/gate.js';
import { takeSamlAssertion } from '../../db/tables/saml_assertions.js';
import { digest } from '../../lib/digest.js';
import { SamlRefusal } from '../../domain/saml/saml-refusal.js';
import { serviceProvider } from '../saml/service-provider.js';
import { verifiedAssertion, type SignedPart, type Verification } from '../saml/verification.js';
import type { XmlElement } from '../../domain/saml/xml.js';
import type { Provider, Strategy } from './strategy.js';

/** The ID of the request that began a flow: a name (xs:ID), and nobody else's. */
const requestIdOf = (nonce: string) => `_${nonce}`;

/** Of an encrypted assertion nothing says that its signature was the reason, nor may anything (specification 16.7.5). */
const mayBeOfANewKey = (error: unknown) => error instanceof SamlRefusal && ['signature', 'decryption'].includes(error.rule);

/** The assertion, judged once more where the provider's metadata has new certificates by now (specification 16.7.10). @throws {SamlRefusal} */
async function assertionOf({ ctx, connection }: Provider, verification: Verification): Promise<XmlElement> {
  try {
    return await verifiedAssertion(verification);
  } catch (error) {
    const provider = mayBeOfANewKey(error) ? await changedSamlProvider(ctx, connection, verification.provider) : null;
    if (!provider) throw error;
    return verifiedAssertion({ ...verification, provider });
  }
}

/** SAML 2.0 Web Browser SSO (SAML Profiles 4.1): the request by HTTP-Redirect, the response by HTTP-POST. */
export const saml: Strategy = {
  async server({ ctx, connection }) {
    const { entity_id, sso_url } = await samlProvider(ctx, connection);
    return { issuer: entity_id, authorization_endpoint: sso_url, token_endpoint: sso_url, announces_iss: false };
  },

  async authorizationUrl({ ctx, connection }, { state, nonce, wishes }) {
    const { sso_url } = await samlProvider(ctx, connection);
    const forceAuthn = connection.options['force_authn'] === true || (wishes['prompt'] ?? '').split(' ').includes('login');
    const request = await serviceProvider(ctx, connection, { entryPoint: sso_url, forceAuthn, generateUniqueId: () => requestIdOf(nonce) });
    return new URL(await request.getAuthorizeUrlAsync(state, undefined, {}));
  },

  async redeem(at, { code, nonce }) {
    const { ctx, connection, redirect_uri } = at;
    const response = readResponse(decodeResponse(code));
    requireSuccess(response.root);
    const provider = await samlProvider(ctx, connection);
    const signed_part = (connection.options['signed_part'] ?? 'assertion') as SignedPart;
    const assertion = await assertionOf(at, { response, provider, signed_part, keys: await samlKeys(ctx) });
    const statement = checkStatement(response, assertion, {
      issuer: provider.entity_id,
      audience: samlEntityId(ctx.environment, connection),
      recipient: redirect_uri,
      request_id: requestIdOf(nonce),
      now: ctx.clock.now(),
    });
    const taken = {
      connection_id: connection.id,
      digest: digest(`${provider.entity_id}\n${statement.id}`),
      expires_at: replayableUntil(statement),
    };
    return { claims: statement.claims, session_until: statement.session_until, spend: (tx) => takeSamlAssertion(tx.scope, taken) };
  },
};
