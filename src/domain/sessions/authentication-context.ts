import type { Environment } from '../environment.js';
import type { BrowserSession } from './sessions.js';
import { reachedBy, statedFor, type AuthenticationClass, type AuthenticationContext } from '../proofs/classes.js';
import { proofsOf } from '../proofs/proofs.js';

/** The classes that somebody can reach in the environment, lowest first: what discovery lists (OIDC Discovery 3). */
export function acrValuesOf(environment: Pick<Environment, 'totp_enabled' | 'passkeys_enabled'>): AuthenticationClass[] {
  return ['1', ...(environment.totp_enabled ? (['2'] as const) : []), ...(environment.passkeys_enabled ? (['phr'] as const) : [])];
}

type SessionProofs = Pick<BrowserSession, 'proofs' | 'amr' | 'authenticated_at' | 'auth_time_known'>;

/** The class that the session's proofs reach, with its methods and its time. */
export const contextOf = (session: SessionProofs): AuthenticationContext => reachedBy(proofsOf(session));

/** What a token states of the session where the client asked for these classes; see {@link statedFor}. */
export const contextFor = (session: SessionProofs, requested: readonly string[]): AuthenticationContext =>
  statedFor(proofsOf(session), requested);

export const acrOf = (session: SessionProofs): AuthenticationClass => contextOf(session).acr;
