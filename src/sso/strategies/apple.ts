import { importPKCS8, SignJWT } from 'jose';
import { ClientSecretPost, type ClientAuth } from 'openid-client';
import { createOidcStrategy } from './oidc.js';
import type { Claims, Provider, ProviderAnswer } from './strategy.js';
import { named } from '../../lib/named.js';

const secretLifetimeSeconds = 300;
const optionText = (provider: Provider, name: string) => {
  const value = provider.connection.options[name];
  return typeof value === 'string' ? value : '';
};

/** Apple's client secret is a JWT signed with the developer's key; one that was made elsewhere is used as it is. */
async function clientSecret(provider: Provider, issuer: string): Promise<string> {
  const secret = provider.client_secret ?? '';
  if (!secret.includes('PRIVATE KEY')) return secret;
  const now = Math.floor(provider.clock.now().getTime() / 1000);
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: optionText(provider, 'key_id') })
    .setIssuer(optionText(provider, 'team_id'))
    .setSubject(provider.connection.provider_client_id)
    .setAudience(issuer)
    .setIssuedAt(now)
    .setExpirationTime(now + secretLifetimeSeconds)
    .sign(await importPKCS8(secret, 'ES256'));
}

/** The name that Apple sends beside the code at the very first login; it passes through the browser, so it is only ever a name. */
function nameOf(answer: ProviderAnswer): Claims {
  try {
    const user = JSON.parse(answer.parameters['user'] ?? '{}') as { name?: { firstName?: unknown; lastName?: unknown } };
    return { given_name: user.name?.firstName, family_name: user.name?.lastName };
  } catch {
    return {};
  }
}

const truth: Readonly<Record<string, boolean>> = named({ true: true, false: false });

/** Sign in with Apple: the answer is a form post, the secret a JWT, `email_verified` sometimes a text, the name comes once. */
export const apple = createOidcStrategy({
  parameters: () => ({ response_mode: 'form_post' }),
  authentication(provider): ClientAuth {
    return (async (server, client, body, headers) => {
      ClientSecretPost(await clientSecret(provider, server.issuer))(server, client, body, headers);
    }) as (...all: Parameters<ClientAuth>) => Promise<void> as ClientAuth;
  },
  claims(_provider, claims, answer) {
    const verified = claims['email_verified'];
    return { ...nameOf(answer), ...claims, email_verified: typeof verified === 'string' ? truth[verified] : verified };
  },
});
