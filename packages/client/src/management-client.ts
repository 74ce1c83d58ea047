import createClient, { type Client } from 'openapi-fetch';
import type { paths } from './management-api.js';
import { retryingFetch } from './retrying-fetch.js';
import type { TokenSource } from './tokens.js';

const mediaType = 'application/vnd.api+json';

export type ManagementOptions = {
  /** Where the service is, such as `https://login.example.com`. */
  readonly url: string;
  readonly token: TokenSource;
  readonly fetch?: typeof globalThis.fetch;
  /** How often a request is sent again at most; 4 unless given. */
  readonly retries?: number;
};

/** `GET`, `POST`, `PATCH` and `DELETE` by the paths of the API, typed; `send` is what they send with. */
export type ManagementClient = Client<paths, typeof mediaType> & {
  readonly url: string;
  readonly send: (request: Request) => Promise<Response>;
};

/** A caller of the Management API: every write bears an `Idempotency-Key`, and what fails for now is sent again. */
export function createManagementClient({ url, token, fetch = globalThis.fetch, retries = 4 }: ManagementOptions): ManagementClient {
  const send = retryingFetch({ token, fetch, retries });
  const client = createClient<paths, typeof mediaType>({
    baseUrl: url,
    fetch: send,
    headers: { accept: mediaType, 'content-type': mediaType },
    // Several values have commas between them.
    querySerializer: { array: { style: 'form', explode: false } },
  });
  return { ...client, url, send };
}
