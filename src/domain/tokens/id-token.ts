import type { Client } from '../clients/clients.js';
import { requireTime, type Context } from '../context.js';
import { keyRing } from '../signing-keys/signing-keys.js';
import { signJwt, verifyJwt } from './formats/jwt.js';

/** What an ID token says beside `iss`, `aud`, `iat` and `exp` (OIDC Core 2). Protocol claims only; the person's are at userinfo. */
export type IdTokenContent = {
  readonly client: Client;
  readonly sub: string;
  readonly session_id: string;
  /** Null leaves it out: a provider didn't say when. */
  readonly auth_time: Date | null;
  readonly nonce: string | null;
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly issued_at: Date;
};

/** Signs an ID token; its lifetime is the client's, else the environment's. */
export async function idTokenValue(ctx: Context, content: IdTokenContent): Promise<string> {
  requireTime(ctx);
  const iat = Math.floor(content.issued_at.getTime() / 1000);
  return signJwt(await keyRing(ctx), 'JWT', {
    iss: ctx.environment.issuer,
    sub: content.sub,
    aud: content.client.id,
    exp: iat + (content.client.id_token_lifetime ?? ctx.environment.id_token_lifetime),
    iat,
    auth_time: content.auth_time === null ? undefined : Math.floor(content.auth_time.getTime() / 1000),
    nonce: content.nonce ?? undefined,
    acr: content.acr ?? undefined,
    amr: content.amr.length > 0 ? content.amr : undefined,
    sid: content.session_id,
  });
}

/** What an `id_token_hint` says (OIDC Core 3.1.2.1, RP-Initiated Logout 1.0 2). */
export type IdTokenHint = { readonly sub: string; readonly client_id: string; readonly session_id: string | null };

/** An ID token of ours that comes back as a hint, expired or not; null when it isn't one. */
export async function readIdTokenHint(ctx: Context, hint: string): Promise<IdTokenHint | null> {
  const claims = verifyJwt(await keyRing(ctx), 'JWT', hint);
  const { iss, sub, aud, sid } = claims ?? {};
  if (typeof iss !== 'string' || !ctx.environment.issuers.includes(iss) || typeof sub !== 'string' || typeof aud !== 'string') return null;
  return { sub, client_id: aud, session_id: typeof sid === 'string' ? sid : null };
}
