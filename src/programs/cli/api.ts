import { setTimeout as sleep } from 'node:timers/promises';

type Json = Record<string, unknown>;

/** How the commands reach a service, and the access token that they do it with; `renew` after it was refused. */
export type Access = { readonly url: string; token(renew: boolean): Promise<string> };

/** What the process ends with: sysexits' `EX_USAGE` and `EX_UNAVAILABLE`; 1: refused by the service. */
export const exits = { refused: 1, usage: 64, unreachable: 69 } as const;

export type ServiceError = { readonly code?: string; readonly detail?: string; readonly id?: string; readonly source?: Json };

/** Why a command ends: a refusal of the service, with the HTTP status if it answered; the message is its `detail` or `error_description`. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly status: number | null = null,
    readonly errors: readonly ServiceError[] = [],
    readonly exit: number = exits.refused,
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

/** The JSON that was answered; {} without any. @throws {CliError} */
export async function readJson(response: Response): Promise<Json> {
  const text = await response.text();
  try {
    return text === '' ? {} : (JSON.parse(text) as Json);
  } catch {
    throw new CliError(`${response.url} answered ${response.status} without JSON: is this the address of the service?`);
  }
}

/** Tokens and secrets go where they are meant for, and not on from there: what leads elsewhere isn't followed. @throws {CliError} when nobody answers */
export async function sendTo(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: 'error' });
  } catch (error) {
    const cause = String((error as { cause?: unknown }).cause ?? error);
    throw new CliError(`${url} can not be reached: ${cause}`, null, [], exits.unreachable);
  }
}

const errorsIn = (body: Json) => (body['errors'] ?? []) as ServiceError[];

const errorText = (body: Json) =>
  errorsIn(body)
    .map(({ detail, code, source }) => [detail, ...Object.values(source ?? {}), code && `(${code})`].filter(Boolean).join(' '))
    .join('\n');

export type ApiAnswer = {
  /** The address of the next page; null: this is the last. */
  readonly next: string | null;
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
  /** Takes an answer that is a file, as it comes. */
  readonly take?: ((content: AsyncIterable<Uint8Array>) => Promise<void>) | undefined;
};

/** Calls the Management API. @throws {CliError} */
export type CallApi = (method: string, path: string, request?: ApiRequest) => Promise<ApiAnswer>;

/** @throws {CliError} where the file breaks off */
async function taken(response: Response, take: (content: AsyncIterable<Uint8Array>) => Promise<void>): Promise<void> {
  const content = response.body as unknown as AsyncIterable<Uint8Array>;
  async function* whole() {
    try {
      yield* content;
    } catch {
      throw new CliError('the file broke off: it is not whole', null, [], exits.unreachable);
    }
  }
  await take(whole());
}

/** Whether nobody answered, or nobody could for now. */
export const isPassing = (error: unknown): boolean =>
  error instanceof CliError && (error.exit === exits.unreachable || [502, 503, 504].includes(error.status ?? 0));

/** How often what nobody answers is asked again, twice as long apart each time: half a minute. */
export const mostTries = 6;
export const pauseBefore = (tries: number): Promise<void> => sleep(500 * 2 ** tries);

/** Reads, also while the service is away for a moment. @throws {CliError} */
export async function readPatiently(call: CallApi, path: string): Promise<ApiAnswer> {
  for (let tries = 0; ; tries++) {
    try {
      return await call('GET', path);
    } catch (error) {
      if (!isPassing(error) || tries === mostTries) throw error;
      await pauseBefore(tries);
    }
  }
}

const maxRepeats = 5;
const maxWaitSeconds = 60;

/** A caller with one token, renewed when it has run out; calls that come too fast for the service wait as it says (RFC 9110 10.2.3). */
export function openApi(access: Access): CallApi {
  let token: Promise<string> | null = null;
  const send = async (method: string, path: string, { document, key, file }: ApiRequest): Promise<Response> =>
    sendTo(`${access.url}/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await (token ??= access.token(false))}`,
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
      if (response.status === 401) token = access.token(true);
      else await sleep(1000 * Math.min(maxWaitSeconds, Number(response.headers.get('retry-after') ?? 1)));
      response = await send(method, path, request);
    }
    if (response.ok && request.take && response.body) await taken(response, request.take);
    const body = response.bodyUsed ? {} : await readJson(response);
    if (!response.ok) throw new CliError(errorText(body) || `${response.status} ${response.statusText}`, response.status, errorsIn(body));
    const links = (body['links'] ?? {}) as { next?: string | null };
    return {
      data: body['data'] as ApiRecord,
      included: (body['included'] ?? []) as ApiRecord[],
      meta: (body['meta'] ?? {}) as Json,
      next: links.next ?? null,
    };
  };
}

/** One call of the Management API with a token of the client, and with the JSON:API document if there is one. @throws {CliError} */
export const callApi = (access: Access, method: string, path: string, document?: Json): Promise<ApiAnswer> =>
  openApi(access)(method, path, { document });
