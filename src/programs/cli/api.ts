import { setTimeout as sleep } from 'node:timers/promises';

type Json = Record<string, unknown>;

/** How the commands reach a service, and as whom. */
export type Access = { readonly url: string; readonly clientId: string; readonly clientSecret: string };

export type ServiceError = { readonly code?: string; readonly detail?: string; readonly id?: string; readonly source?: Json };

/** A refusal of the service, with the HTTP status if it answered; the message is its `detail` or `error_description`. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly status: number | null = null,
    /** What the service says, one by one. */
    readonly errors: readonly ServiceError[] = [],
  ) {
    super(message);
    this.name = 'CliError';
  }
}

export type ApiRecord = {
  readonly type: string;
  readonly id: string;
  readonly attributes: Json;
  readonly relationships?: Readonly<Record<string, { readonly data?: unknown }>>;
};

const mediaType = 'application/vnd.api+json';

async function readJson(response: Response): Promise<Json> {
  const text = await response.text();
  try {
    return text === '' ? {} : (JSON.parse(text) as Json);
  } catch {
    throw new CliError(`${response.url} answered ${response.status} without JSON: is this the address of the service?`);
  }
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    throw new CliError(`${url} can not be reached: ${String((error as { cause?: unknown }).cause ?? error)}`);
  }
}

async function tokenFor({ url, clientId, clientSecret }: Access): Promise<string> {
  const credentials = [clientId, clientSecret].map(encodeURIComponent).join(':');
  const response = await reach(`${url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: `${url}/api` }).toString(),
  });
  const body = await readJson(response);
  if (!response.ok) throw new CliError(`no access token: ${String(body['error'])}: ${String(body['error_description'])}`);
  return String(body['access_token']);
}

const errorsIn = (body: Json) => (body['errors'] ?? []) as ServiceError[];

const errorText = (body: Json) =>
  errorsIn(body)
    .map((error) => [error.detail, ...Object.values(error.source ?? {})].filter(Boolean).join(' '))
    .join('\n');

export type ApiAnswer = {
  readonly data: ApiRecord | ApiRecord[];
  readonly included: readonly ApiRecord[];
  readonly meta: Json;
};

/** What a call says beside its address. `key`: an Idempotency-Key, so that the same call again does nothing a second time. */
export type ApiRequest = {
  readonly document?: Json | undefined;
  readonly key?: string | undefined;
  /** Bytes in the place of a document. */
  readonly file?: { readonly data: Buffer; readonly headers: Readonly<Record<string, string>> } | undefined;
};

/** Calls the Management API. @throws {CliError} */
export type CallApi = (method: string, path: string, request?: ApiRequest) => Promise<ApiAnswer>;

const maxRepeats = 5;
const maxWaitSeconds = 60;

/** A caller with one token of the client, renewed when it has run out; calls that come too fast for the service wait as it says (RFC 9110 10.2.3). */
export function openApi(access: Access): CallApi {
  let token: Promise<string> | null = null;
  const send = async (method: string, path: string, { document, key, file }: ApiRequest): Promise<Response> =>
    reach(`${access.url}/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await (token ??= tokenFor(access))}`,
        accept: mediaType,
        ...(document ? { 'content-type': mediaType } : {}),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...file?.headers,
      },
      ...(document ? { body: JSON.stringify(document) } : {}),
      ...(file ? { body: new Uint8Array(file.data) } : {}),
    });
  return async (method, path, request = {}) => {
    let response = await send(method, path, request);
    for (let repeats = 0; repeats < maxRepeats && [401, 429].includes(response.status); repeats++) {
      if (response.status === 401 && repeats > 0) break;
      if (response.status === 401) token = null;
      else await sleep(1000 * Math.min(maxWaitSeconds, Number(response.headers.get('retry-after') ?? 1)));
      response = await send(method, path, request);
    }
    const body = await readJson(response);
    if (!response.ok) throw new CliError(errorText(body) || `${response.status} ${response.statusText}`, response.status, errorsIn(body));
    return {
      data: body['data'] as ApiRecord,
      included: (body['included'] ?? []) as ApiRecord[],
      meta: (body['meta'] ?? {}) as Json,
    };
  };
}

/** One call of the Management API with a token of the client, and with the JSON:API document if there is one. @throws {CliError} */
export const callApi = (access: Access, method: string, path: string, document?: Json): Promise<ApiAnswer> =>
  openApi(access)(method, path, { document });
