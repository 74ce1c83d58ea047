import { findIdentity } from '../../db/tables/identities.js';
import { findProviderTokenId, keepProviderToken, type ProviderTokenRow } from '../../db/tables/provider_tokens.js';
import { uuidv7 } from '../../lib/random.js';
import type { Aad } from '../../lib/seal.js';
import type { Connection } from '../connections/connections.js';
import type { Context } from '../context.js';

/** What is sealed of a provider's answer. */
export type SealedTokens = { readonly access_token: string; readonly refresh_token: string | null };

/** What a provider's token endpoint gave (RFC 6749 5.1). */
export type GivenTokens = SealedTokens &
  Pick<ProviderTokenRow, 'scopes' | 'token_endpoint' | 'revocation_endpoint' | 'auth_method'> & {
    /** Seconds; null: it doesn't say. */
    readonly expires_in: number | null;
  };

const providerTokenAad = (id: string): Aad => `provider_tokens/${id}`;

const longest = 16_384;
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' && value.length <= longest ? value : null);

/** Scopes are parted by spaces, at GitHub by commas; that we may come back isn't one that a client asks for. */
const scopesIn = (scope: string) =>
  [...new Set(scope.split(/[ ,]+/))].filter((one) => one !== '' && one !== 'offline_access').slice(0, 200);

/** @param rest what the answer doesn't say: `asked` stands for a scope that it leaves out (RFC 6749 5.1) */
export function readTokens(
  answer: Readonly<Record<string, unknown>>,
  { asked, ...rest }: Pick<GivenTokens, 'token_endpoint' | 'revocation_endpoint' | 'auth_method'> & { readonly asked: readonly string[] },
): GivenTokens {
  const { expires_in } = answer;
  const seconds = Number(expires_in);
  return {
    ...rest,
    access_token: text(answer['access_token']) ?? '',
    refresh_token: text(answer['refresh_token']),
    scopes: scopesIn(text(answer['scope']) ?? asked.join(' ')),
    expires_in: expires_in !== undefined && Number.isSafeInteger(seconds) && seconds >= 0 && seconds < 1e9 ? seconds : null,
  };
}

/** When an access token expires that is good for so many seconds; null: it doesn't. */
export const expiryOf = ({ clock }: Context, expires_in: number | null): Date | null =>
  expires_in === null ? null : new Date(clock.now().getTime() + expires_in * 1000);

export const sealTokens = ({ crypto }: Context, id: string, { access_token, refresh_token }: SealedTokens): Buffer =>
  crypto.sealer.seal(JSON.stringify({ access_token, refresh_token }), providerTokenAad(id));

export const openTokens = ({ crypto }: Pick<Context, 'crypto'>, id: string, sealed: Buffer): SealedTokens =>
  JSON.parse(crypto.sealer.open(sealed, providerTokenAad(id))) as SealedTokens;

type TokensToKeep = {
  readonly connection: Connection;
  readonly subject: string;
  /** Whose account it has to be; null: whoever's it is. */
  readonly user_id: string | null;
  readonly client_id: string;
  readonly tokens: GivenTokens;
  /** Whether the person asked for it: then it stands in the place of what was there, whatever that allowed. */
  readonly asked: boolean;
};

/** Keeps what a provider gave for a client; false where it would not last, or the account isn't linked, or the client may not have it. */
export async function keepTokens(ctx: Context, { connection, subject, user_id, client_id, tokens, asked }: TokensToKeep): Promise<boolean> {
  const { scopes, token_endpoint, revocation_endpoint, auth_method, access_token, refresh_token, expires_in } = tokens;
  if (access_token === '' || (refresh_token === null && expires_in !== null)) return false;
  const identity = await findIdentity(ctx.scope, connection.id, subject);
  if (!identity?.proven || (user_id !== null && identity.user_id !== user_id)) return false;
  const now = ctx.clock.now();
  const id = (await findProviderTokenId(ctx.scope, identity.id, client_id)) ?? uuidv7(now.getTime());
  return keepProviderToken(ctx.scope, {
    id,
    identity_id: identity.id,
    user_id: identity.user_id,
    client_id,
    connection_id: connection.id,
    scopes,
    tokens_sealed: sealTokens(ctx, id, { access_token, refresh_token }),
    expires_at: expiryOf(ctx, expires_in),
    token_endpoint,
    revocation_endpoint,
    auth_method,
    now,
    widens: asked,
  });
}
