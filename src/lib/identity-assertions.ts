import { decodeProtectedHeader } from 'jose';

/** Names of Identity Assertion JWT Authorization Grants (draft-ietf-oauth-identity-assertion-authz-grant). */
export const idJagTokenType = 'urn:ietf:params:oauth:token-type:id-jag';
export const idJagProfile = 'urn:ietf:params:oauth:grant-profile:id-jag';
export const idJagTyp = 'oauth-id-jag+jwt';

/** Whether the text says that it is such a grant, which alone tells it from a workload's token. */
export function isIdJag(assertion: string): boolean {
  try {
    return decodeProtectedHeader(assertion).typ?.toLowerCase() === idJagTyp;
  } catch {
    return false;
  }
}
