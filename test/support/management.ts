import { request as send } from 'undici';
import { basic } from './oauth.js';
import { startTestService, type TestService } from './service.js';

export const managementClient = { id: 'management', client_secret: 'the secret of the management client' };
const mediaType = 'application/vnd.api+json';

/** A service whose management client is known. */
export const startManagedService = (
  environment: Record<string, string> = {},
  options: Parameters<typeof startTestService>[1] = {},
): Promise<TestService> =>
  startTestService(
    { MANAGEMENT_CLIENT_ID: managementClient.id, MANAGEMENT_CLIENT_SECRET: managementClient.client_secret, ...environment },
    options,
  );

// oxlint-disable-next-line typescript/no-explicit-any -- documents are looked into freely by tests
export type Document = Record<string, any>;
export type ApiAnswer = { status: number; headers: Headers; text: string; body: Document };
export type ApiRequest = { body?: unknown; headers?: Record<string, string | undefined>; raw?: string };

/** What was sent and answered, for whoever validates it. */
export type Exchange = { method: string; path: string; request: ApiRequest; answer: ApiAnswer };

/** What documents call a record of the collection. */
export const typeIn = (collection: string): string => collection.replace(/ies$/, 'y').replace(/s$/, '');

/** A caller of the Management API with one token. */
export class Api {
  readonly exchanges: Exchange[] = [];
  constructor(
    readonly origin: string,
    readonly token: string | null,
    /** Sent as Host: which environment is asked for. */
    readonly host: string | null = null,
  ) {}

  async request(method: string, path: string, request: ApiRequest = {}): Promise<ApiAnswer> {
    const hasBody = request.body !== undefined || request.raw !== undefined;
    const headers = Object.entries({
      ...(this.host === null ? {} : { host: this.host }),
      ...(this.token === null ? {} : { authorization: `Bearer ${this.token}` }),
      ...(hasBody ? { 'content-type': mediaType } : {}),
      accept: mediaType,
      ...request.headers,
    }).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const response = await send(path.startsWith('http') ? path : `${this.origin}/api${path}`, {
      method: method as 'GET',
      headers: Object.fromEntries(headers),
      body: hasBody ? (request.raw ?? JSON.stringify(request.body)) : null,
    });
    const text = await response.body.text();
    const isFile = String(response.headers['content-type']).includes('ndjson');
    const body = text.startsWith('{') && !isFile ? (JSON.parse(text) as Document) : {};
    const answer = { status: response.statusCode, headers: new Headers(response.headers as Record<string, string>), text, body };
    this.exchanges.push({ method, path, request, answer });
    return answer;
  }

  get = (path: string, headers: ApiRequest['headers'] = {}) => this.request('GET', path, { headers });
  post = (path: string, body?: unknown, headers: ApiRequest['headers'] = {}) => this.request('POST', path, { body, headers });
  patch = (path: string, body?: unknown, headers: ApiRequest['headers'] = {}) => this.request('PATCH', path, { body, headers });
  delete = (path: string, body?: unknown, headers: ApiRequest['headers'] = {}) => this.request('DELETE', path, { body, headers });

  /** POST of a resource object. */
  attempt = (collection: string, attributes: Document, relationships?: Document): Promise<ApiAnswer> =>
    this.post(`/${collection}`, { data: { type: typeIn(collection), attributes, ...(relationships && { relationships }) } });

  /** The same, where nothing stands in its way; answers the created record. @throws when it isn't created */
  async create(collection: string, attributes: Document, relationships?: Document): Promise<Document> {
    const answer = await this.attempt(collection, attributes, relationships);
    if (answer.status !== 201) throw new Error(`${collection}: ${answer.status} ${answer.text}`);
    return answer.body['data'] as Document;
  }

  /** PATCH of a record. */
  update = (collection: string, id: string, attributes: Document, relationships?: Document): Promise<ApiAnswer> =>
    this.patch(`/${collection}/${id}`, { data: { type: typeIn(collection), id, attributes, ...(relationships && { relationships }) } });
}

export const link = (type: string, id: string) => ({ data: { type, id } });
export const links = (type: string, ...ids: string[]) => ({ data: ids.map((id) => ({ type, id })) });

/** A token of the Management API for the client, with all it was granted unless `scope` says less. `host` chooses the environment. */
export async function managementToken(
  origin: string,
  client: { id: string; client_secret: string } = managementClient,
  options: { scope?: string; host?: string } = {},
): Promise<string> {
  const resource = options.host === undefined ? `${origin}/api` : `http://${options.host}/api`;
  const fields = { grant_type: 'client_credentials', resource, ...(options.scope === undefined ? {} : { scope: options.scope }) };
  const response = await send(`${origin}/oauth/token`, {
    method: 'POST',
    headers: {
      authorization: basic(client),
      'content-type': 'application/x-www-form-urlencoded',
      ...(options.host === undefined ? {} : { host: options.host }),
    },
    body: new URLSearchParams(fields).toString(),
  });
  const answer = (await response.body.json()) as { access_token?: string };
  if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`);
  return answer.access_token;
}

/** A caller with the management client's token. */
export const manage = async (origin: string, scope?: string): Promise<Api> =>
  new Api(origin, await managementToken(origin, managementClient, scope === undefined ? {} : { scope }));

/** A second environment, made through the API, and a caller with all permissions there. */
export async function secondEnvironment(api: Api, slug = 'staging'): Promise<{ id: string; api: Api; host: string }> {
  const answer = await api.attempt('environments', { name: slug, slug, kind: 'staging' });
  if (answer.status !== 201) throw new Error(`no environment: ${answer.text}`);
  const { client_id, client_secret } = answer.body['meta'].management_client as { client_id: string; client_secret: string };
  const host = `${slug}.${new URL(api.origin).host}`;
  const token = await managementToken(api.origin, { id: client_id, client_secret }, { host });
  return { id: (answer.body['data'] as { id: string }).id, api: new Api(api.origin, token, host), host };
}
