import type { ProviderAuthMethod } from '../../db/tables/provider_tokens.js';
import type { OutboundResponse } from '../../platform/fetch/fetch.js';
import type { Deps } from '../context.js';

/** RFC 6749 2.3.1: the two parts form-encoded. */
export const basicCredentials = (id: string, secret: string): string => {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${Buffer.from(`${encode(id)}:${encode(secret)}`).toString('base64')}`;
};

/** Who we are for a provider's endpoint. */
export type ProviderClient = { readonly id: string; readonly secret: string | null; readonly auth_method: ProviderAuthMethod };

type Ask = {
  readonly url: string;
  readonly as: ProviderClient;
  readonly body: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
};

/** POST to a token or revocation endpoint (RFC 6749 3.2, RFC 7009 2.1). @throws {OutboundError} without an answer, the signal's reason */
export function askProvider({ net }: Pick<Deps, 'net'>, { url, as, body, signal }: Ask, timeoutMs: number): Promise<OutboundResponse> {
  const { id, secret, auth_method } = as;
  const isBasic = auth_method === 'client_secret_basic' && secret !== null;
  const own = isBasic ? {} : { client_id: id, ...(auth_method === 'client_secret_post' && secret !== null && { client_secret: secret }) };
  return net.fetch.request(url, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': 'identity-provider',
      ...(isBasic && { authorization: basicCredentials(id, secret) }),
    },
    body: new URLSearchParams({ ...body, ...own }).toString(),
    timeoutMs,
    maxResponseBytes: 64 * 1024,
    ...(signal && { signal }),
  });
}
