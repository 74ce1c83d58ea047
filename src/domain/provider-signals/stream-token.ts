import { jsonObject } from '../../lib/json-object.js';
import { ownClientKeepsStream, providerSecret, signalsIssuerOf, signalsToken, type Connection } from '../connections/connections.js';
import type { Context } from '../context.js';
import { askProvider } from '../provider-tokens/provider-endpoint.js';
import { issuerMetadata, UnusableMetadata } from '../workloads/issuer-keys.js';
import { shortAddress } from './signal-subject.js';
import { TransmitterFailure } from './transmitter-failure.js';

const timeoutMs = 10_000;
/** How long a token of which nothing is said is used. */
const assumedSeconds = 300;
const scope = 'ssf.read ssf.manage';

/** An access token for a transmitter; `expires_at` is null for one that was set. */
export type StreamToken = { readonly token: string; readonly expires_at: Date | null };

/** What a document at the issuer says. @throws {OutboundError | TransmitterFailure} */
export const publishedMetadata = (...asked: Parameters<typeof issuerMetadata>): ReturnType<typeof issuerMetadata> =>
  issuerMetadata(...asked).catch((error: unknown) => {
    throw error instanceof UnusableMetadata ? new TransmitterFailure(error.message) : error;
  });

/** The token that was set; else one that the provider gives our client there (RFC 6749 4.4). Null where neither is. @throws {OutboundError | TransmitterFailure} */
export async function streamToken(ctx: Context, connection: Connection): Promise<StreamToken | null> {
  const set = signalsToken(ctx, connection);
  if (set !== null) return { token: set, expires_at: null };
  const secret = ownClientKeepsStream(connection) ? providerSecret(ctx, connection) : null;
  if (secret === null) return null;
  const metadata = await publishedMetadata(ctx, signalsIssuerOf(connection) ?? '', 'oauth-authorization-server');
  const url = shortAddress(metadata['token_endpoint']);
  if (url === null) throw new TransmitterFailure('the metadata has no token_endpoint');
  const methods = metadata['token_endpoint_auth_methods_supported'];
  // RFC 8414 2: without a word it is Basic.
  const isBasic = !Array.isArray(methods) || methods.includes('client_secret_basic');
  const as = { id: connection.provider_client_id, secret, auth_method: isBasic ? 'client_secret_basic' : 'client_secret_post' } as const;
  const answer = await askProvider(ctx, { url, as, body: { grant_type: 'client_credentials', scope } }, timeoutMs);
  const { access_token, expires_in } = tokenOf(answer.body);
  if (answer.status !== 200 || typeof access_token !== 'string' || access_token === '')
    throw new TransmitterFailure(`the token endpoint: status ${answer.status}`);
  const seconds = typeof expires_in === 'number' && expires_in > 0 && expires_in < 1e9 ? expires_in : assumedSeconds;
  return { token: access_token, expires_at: new Date(ctx.clock.now().getTime() + seconds * 1000) };
}

function tokenOf(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    return jsonObject(JSON.parse(body.toString('utf8'))) ?? {};
  } catch {
    return {};
  }
}
