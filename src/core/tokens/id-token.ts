import type { Client } from '../clients.js';
import type { Context } from '../context.js';
import { keyRing } from '../signing-keys.js';
import { signJwt } from './formats/jwt.js';

/** What an ID token says beside `iss`, `aud`, `iat` and `exp` (OIDC Core 2). Protocol claims only; the person's are at userinfo. */
export type IdTokenContent = {
  readonly client: Client;
  readonly sub: string;
  readonly session_id: string;
  readonly auth_time: Date;
  readonly nonce: string | null;
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly issued_at: Date;
};

/** Signs an ID token; its lifetime is the client's, else the environment's. */
export async function idTokenValue(ctx: Context, content: IdTokenContent): Promise<string> {
  const iat = Math.floor(content.issued_at.getTime() / 1000);
  return signJwt(await keyRing(ctx), 'JWT', {
    iss: ctx.environment.issuer,
    sub: content.sub,
    aud: content.client.id,
    exp: iat + (content.client.id_token_lifetime ?? ctx.environment.id_token_lifetime),
    iat,
    auth_time: Math.floor(content.auth_time.getTime() / 1000),
    nonce: content.nonce ?? undefined,
    acr: content.acr ?? undefined,
    amr: content.amr.length > 0 ? content.amr : undefined,
    sid: content.session_id,
  });
}
