import { ProviderFailure } from '../provider-failure.js';
import { askJson, createOAuth2Strategy } from './oauth2.js';
import type { Claims, Provider } from './strategy.js';

type Address = { email?: unknown; primary?: unknown; verified?: unknown };

/** GitHub tells addresses, and whether they are verified, at an address of their own; what the profile shows is only what the person typed. */
async function primaryAddress(provider: Provider, access_token: string, claims: Claims): Promise<Claims> {
  const userinfo = provider.connection.userinfo_endpoint ?? provider.description.endpoints.userinfo_endpoint ?? '';
  const headers = { authorization: `Bearer ${access_token}` };
  let addresses: unknown;
  try {
    addresses = await askJson(provider, `${userinfo.replace(/\/$/, '')}/emails`, { headers }, 'the list of addresses');
  } catch (error) {
    // An Enterprise server may not show them; then only what userinfo itself says counts.
    if (error instanceof ProviderFailure) return claims;
    throw error;
  }
  const primary = Array.isArray(addresses) ? (addresses as Address[]).find((address) => address?.primary === true) : undefined;
  return primary ? { ...claims, email: primary.email, email_verified: primary.verified === true } : claims;
}

export const github = createOAuth2Strategy({ complete: primaryAddress });
