import type { Request, Response } from 'express';
import { insertSsoFlow, redeemSsoFlow } from '../db/tables/sso_flows.js';
import { cookieName, readCookie, setCookie } from '../http/request/cookies.js';
import { digest } from '../lib/digest.js';
import { randomToken } from '../lib/random.js';
import type { Aad } from '../lib/seal.js';
import type { SetupTest } from '../domain/connections/connections.js';
import type { Freshness } from './freshness.js';

/** Access that outlives the sign-in: the provider's scopes beside those of the sign-in, and whether the person asked for it, and is asked there. */
export type KeptAccess = { readonly scopes: readonly string[]; readonly asked: boolean };

/** Whom tokens are kept for, and, of an `access`, the redirect URI that the person goes back to. */
export type KeptFor = KeptAccess & { readonly client_id: string; readonly redirect_uri: string | null };

export type Flow = {
  readonly connection_id: string;
  /** Where the provider takes codes, as it was when the browser was sent there: the code goes nowhere else (RFC 9700 4.4). */
  readonly token_endpoint: string;
  /** `connect` ties the account to the signed-in user; `access` also gives a client tokens of it; `test` shows what would happen. */
  readonly purpose: 'login' | 'connect' | 'access' | 'test';
  readonly nonce: string;
  /** PKCE (RFC 7636). */
  readonly verifier: string;
  /** A path of our own, checked when the flow began. */
  readonly return_to: string | null;
  /** Whose session began it; set for `connect` and `access`. */
  readonly session_id: string | null;
  /** How fresh the sign-in at the provider must be; null where it may go by an older one. */
  readonly demand: Freshness | null;
  /** For which client the tokens of the provider are kept; absent: for none. */
  readonly keeps?: KeptFor;
  /** Whether a `test` may tell who somebody is; absent for the others. */
  readonly tells_people?: boolean;
  /** Of a `test` that belongs to a set-up link. */
  readonly setup?: SetupTest;
};

const lifetimeSeconds = 600;
const cookie = 'sso';
const shape = /^[\w-]{43}$/;
/** What a `state` looks like. */
export const stateShape = shape;

export const flowAad = (connection_id: string): Aad => `sso_flows/${connection_id}`;

/** The secret of this browser's cookie, which flows are bound to; one for all tabs. Null without the cookie. */
function browserSecret(req: Request): string | null {
  const secret = readCookie(req, cookieName(req, cookie));
  return secret !== undefined && shape.test(secret) ? secret : null;
}

/** A keyed digest of the browser's secret, for a sealed form, which must not hold the secret itself. Null without the cookie. */
export function browserMark(req: Request): string | null {
  const secret = browserSecret(req);
  return secret === null ? null : req.ctx.crypto.sealer.digest('sso-browser', secret).toString('base64url');
}

/** Whether `mark` is this browser's, also one made with an earlier SECRET_KEY. */
export function isBrowserMark(req: Request, mark: string): boolean {
  const secret = browserSecret(req);
  return secret !== null && req.ctx.crypto.sealer.isDigest('sso-browser', secret, Buffer.from(mark, 'base64url'));
}

/** Begins a flow in this browser; the state is for the provider, and good for one answer within ten minutes (RFC 9700 4.7). */
export async function beginFlow(
  req: Request,
  res: Response,
  begin: Pick<
    Flow,
    'connection_id' | 'token_endpoint' | 'purpose' | 'return_to' | 'session_id' | 'demand' | 'keeps' | 'tells_people' | 'setup'
  >,
): Promise<Flow & { state: string }> {
  const { ctx } = req;
  const secret = browserSecret(req) ?? randomToken('');
  setCookie(req, res, cookie, secret, lifetimeSeconds);
  const flow: Flow = { ...begin, nonce: randomToken(''), verifier: randomToken('') };
  const state = randomToken('');
  await insertSsoFlow(ctx.scope, {
    state_digest: digest(state),
    browser_digest: digest(secret),
    connection_id: flow.connection_id,
    content_sealed: ctx.crypto.sealer.seal(JSON.stringify(flow), flowAad(flow.connection_id)),
    expires_at: new Date(ctx.clock.now().getTime() + lifetimeSeconds * 1000),
  });
  return { ...flow, state };
}

/** Spends a `state` and returns its flow, with the answer that was posted for it; null when it is unknown, spent, expired, or another browser's. */
export async function redeemFlow(req: Request, state: string): Promise<(Flow & { readonly answer: string | null }) | null> {
  const secret = browserSecret(req);
  if (secret === null || !shape.test(state)) return null;
  const row = await redeemSsoFlow(req.ctx.scope, digest(state), digest(secret), req.ctx.clock.now());
  if (!row) return null;
  const open = (sealed: Buffer) => req.ctx.crypto.sealer.open(sealed, flowAad(row.connection_id));
  return { ...(JSON.parse(open(row.content_sealed)) as Flow), answer: row.answer_sealed && open(row.answer_sealed) };
}
