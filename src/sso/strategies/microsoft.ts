import { createOidcStrategy } from './oidc.js';
import type { Claims } from './strategy.js';

/** The directory of personal accounts, whose addresses Microsoft has checked. */
const personalDirectory = '9188040d-6c67-4c5b-b112-36a304b66dad';

const sharedIssuer = /\/(common|organizations|consumers)\/v2\.0\/?$/;

/**
 * Microsoft never sends `email_verified`: in a directory of its own anybody can write any address (nOAuth). It counts as verified for
 * personal accounts, and where the optional claim `xms_edov` says that the domain's owner was checked.
 */
function emailVerified(claims: Claims): boolean | undefined {
  const edov = claims['xms_edov'];
  if (claims['tid'] === personalDirectory || edov === true || edov === 1 || edov === '1' || edov === 'true') return true;
  return edov === undefined ? undefined : false;
}

/** Microsoft Entra ID; where many directories share the connection, people are told apart by directory and subject together. */
export const microsoft = createOidcStrategy({
  claims({ connection, description }, claims) {
    const shared = sharedIssuer.test(connection.issuer ?? description.issuer ?? '');
    const sub = shared ? `${String(claims['tid'])}:${String(claims['sub'])}` : claims['sub'];
    const { email_verified: _never, ...rest } = claims;
    const verified = emailVerified(claims);
    return { ...rest, sub, ...(verified !== undefined && { email_verified: verified }) };
  },
});
