import { deleteSignIns, findSignIn, insertSignIn, takeSignIn, type SignInRow, type SignInStage } from '../../db/tables/sign_ins.js';
import { holdUnproven } from '../../db/tables/user_proofs.js';
import type { UserRow } from '../../db/tables/users.js';
import { digest } from '../../lib/digest.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import type { Aad } from '../../lib/seal.js';
import type { ProviderAccount } from '../connections/identities.js';
import type { Context } from '../context.js';
import type { SessionProof } from '../proofs/proofs.js';
import type { ProviderSignIn } from './sessions.js';

/** Seconds that somebody may be half signed in. */
export const signInLifetime = 600;
/** Wrong codes that end a half sign-in. */
export const signInAttempts = 5;

/**
 * The account at a provider that somebody comes from, with the provider's name for the mail: what it tells is taken over once the sign-in is complete. `by_word`:
 * nothing but the provider's word says that the two belong together. `identity_id`: they did before; absent: the account becomes the user's then.
 */
export type ProviderLink = {
  readonly account: ProviderAccount;
  readonly provider: string;
  readonly by_word: boolean;
  readonly identity_id?: string;
  /** Until when the provider lets a session last (SAML `SessionNotOnOrAfter`). */
  readonly session_until?: string | null;
  /** What `profile_sync` takes over. */
  readonly attributes?: Readonly<Record<string, unknown>>;
};

export type HalfSignIn = {
  readonly user_id: string;
  readonly stage: SignInStage;
  readonly proofs: readonly SessionProof[];
  readonly proven_hash?: string | null;
  readonly provider?: ProviderSignIn | null;
  readonly provider_account?: ProviderLink | null;
};

const aadOf = (id: string): Aad => `sign_ins/${id}`;

/** Begins a half sign-in: it opens nothing. @returns the token is for the browser's cookie and known to nobody else */
export async function startSignIn(ctx: Context, half: HalfSignIn): Promise<{ sign_in: SignInRow; token: string }> {
  const now = ctx.clock.now();
  const token = randomToken('');
  const id = uuidv7(now.getTime());
  const { user_id, stage, proofs, proven_hash = null, provider = null, provider_account = null } = half;
  const sign_in = await insertSignIn(ctx.scope, {
    id,
    token_digest: digest(token),
    user_id,
    stage,
    proofs: [...proofs],
    proven_hash,
    provider: provider && {
      amr: provider.amr,
      acr: provider.acr,
      auth_time: provider.auth_time?.toISOString() ?? null,
      sid: provider.sid ?? null,
    },
    linking_sealed: provider_account && ctx.crypto.sealer.seal(JSON.stringify(provider_account), aadOf(id)),
    created_at: now,
    expires_at: new Date(now.getTime() + signInLifetime * 1000),
  });
  return { sign_in, token };
}

/** A sign-in that can't go on: a change of the account has overtaken it, or its half has ended by time, tries or another request. */
export class SignInOver extends Error {
  constructor(readonly reason: 'overtaken' | 'expired') {
    super(`the sign-in is over: ${reason}`);
  }
}

/**
 * The same for somebody who has just proven the first step, in a transaction. While nobody has proven the address, its first proof, which clears the account,
 * waits for the end of the transaction, or came first (specification 4.5.6).
 * @throws {SignInOver}
 */
export async function beginSignIn(tx: Context, user: UserRow, half: HalfSignIn): ReturnType<typeof startSignIn> {
  if (!user.email_verified && !(await holdUnproven(tx.scope, user.id))) throw new SignInOver('overtaken');
  return startSignIn(tx, half);
}

const shape = /^[\w-]{43}$/;

/** The half sign-in of the cookie's value while it lasts, or null. */
export const findHalfSignIn = async (ctx: Context, token: string): Promise<SignInRow | null> =>
  shape.test(token) ? findSignIn(ctx.scope, digest(token), signInAttempts, ctx.clock.now()) : null;

/** What a provider says of the sign-in there, as it was kept. */
export const providerOf = ({ provider }: Pick<SignInRow, 'provider'>): ProviderSignIn | null =>
  provider && { ...provider, auth_time: provider.auth_time === null ? null : new Date(provider.auth_time) };

/** The account at a provider that somebody comes from, or null. */
export const providerAccountOf = (ctx: Pick<Context, 'crypto'>, { id, linking_sealed }: SignInRow): ProviderLink | null =>
  linking_sealed && (JSON.parse(ctx.crypto.sealer.open(linking_sealed, aadOf(id))) as ProviderLink);

/** Takes the half sign-in to complete it, in the transaction that makes the session: of two at once, one gets it. Null when it has ended. */
export const completeSignIn = async (tx: Context, { id }: Pick<SignInRow, 'id'>): Promise<SignInRow | null> =>
  takeSignIn(tx.scope, id, tx.clock.now());

/** Ends the half sign-in of this browser's cookie, at logout. */
export async function endSignInOf(ctx: Context, token: string): Promise<void> {
  if (shape.test(token)) await deleteSignIns(ctx.scope, { token_digest: digest(token) });
}

/** Ends all half sign-ins of a user: what they rest on has changed. */
export const endSignIns = async (tx: Context, user_id: string): Promise<number> => deleteSignIns(tx.scope, { user_id });
