/** How the commands reach a service, and as whom. */
export type Access = { readonly url: string; readonly clientId: string; readonly clientSecret: string };

/** A refusal of the service; the message is its `detail` or `error_description`. */
export class CliError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CliError';
  }
}

type Json = Record<string, unknown>;
/** A resource object of an answer. */
export type ResourceObject = { readonly type: string; readonly id: string; readonly attributes: Json };

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

const errorText = (body: Json) =>
  ((body['errors'] ?? []) as { detail?: string; source?: Json }[])
    .map((error) => [error.detail, ...Object.values(error.source ?? {})].filter(Boolean).join(' '))
    .join('\n');

/** One call of the Management API with a token of the client, and with the JSON:API document if there is one. @throws {CliError} */
export async function callApi(
  access: Access,
  method: string,
  path: string,
  document?: Json,
): Promise<{ data: ResourceObject | ResourceObject[]; meta: Json }> {
  const token = await tokenFor(access);
  const response = await reach(`${access.url}/api${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, accept: mediaType, ...(document ? { 'content-type': mediaType } : {}) },
    ...(document ? { body: JSON.stringify(document) } : {}),
  });
  const body = await readJson(response);
  if (!response.ok) throw new CliError(errorText(body) || `${response.status} ${response.statusText}`);
  return { data: body['data'] as ResourceObject, meta: (body['meta'] ?? {}) as Json };
}
