import { pkcePair } from '../support/browser.js';
import { basic } from '../support/oauth.js';
import { administrator, managementClient, origin, type Answer, type Door } from './replicas.js';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const json = 'application/vnd.api+json';
const redirect_uri = 'https://app.example.com/callback';

/** What the load is made with: a session of a browser, a token of the Management API, two clients. */
export type Credentials = {
  readonly cookie: string;
  readonly managementToken: string;
  /** Public: its refresh tokens are rotated at each use. */
  readonly application: string;
};

export type Tokens = { readonly access_token: string; readonly refresh_token: string };

const parse = <T>({ status, text }: Answer): T => {
  if (status >= 400 || status === 0) throw new Error(`${status} ${text}`);
  return JSON.parse(text) as T;
};

/** A call of the Management API. */
export const manage = (replica: Door, token: string, method: string, path: string, data?: object): Promise<Answer> =>
  replica.send(
    method,
    `/api${path}`,
    { authorization: `Bearer ${token}`, accept: json, ...(data && { 'content-type': json }) },
    data && JSON.stringify({ data }),
  );

/** Signs in, gets a token, makes the client and the webhook. @throws when the service refuses any of it */
export async function prepare(replica: Door, receiver: string): Promise<Credentials> {
  const signIn = await replica.send('POST', '/login', { 'content-type': 'application/json' }, JSON.stringify(administrator));
  if (signIn.status !== 200) throw new Error(`sign-in: ${signIn.status} ${signIn.text}`);
  const cookie = signIn.cookies.map((one) => one.split(';')[0]).join('; ');
  const fields = new URLSearchParams({ grant_type: 'client_credentials', resource: `${origin}/api` }).toString();
  const answer = await replica.send('POST', '/oauth/token', { ...form, authorization: basic(managementClient) }, fields);
  const { access_token: managementToken } = parse<Tokens>(answer);
  const create = async (path: string, type: string, attributes: object) =>
    parse<{ data: { id: string } }>(await manage(replica, managementToken, 'POST', path, { type, attributes })).data.id;
  const application = await create('/clients', 'client', {
    name: 'Application',
    application_type: 'native',
    redirect_uris: [redirect_uri],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
    first_party: true,
  });
  await create('/webhooks', 'webhook', { name: 'Receiver', url: receiver, events: ['user.created'] });
  return { cookie, managementToken, application };
}

/** Asks for a code with the session. `code` is null when none was told. */
export async function authorize(replica: Door, { cookie, application }: Credentials) {
  const { verifier, challenge } = pkcePair();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: application,
    redirect_uri,
    scope: 'openid offline_access',
    state: 'some state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const answer = await replica.send('GET', `/oauth/authorize?${query.toString()}`, { cookie });
  const code = answer.location === null ? null : new URL(answer.location, origin).searchParams.get('code');
  return { answer, code, verifier };
}

const token = (replica: Door, { application }: Credentials, fields: Record<string, string>): Promise<Answer> =>
  replica.send('POST', '/oauth/token', form, new URLSearchParams({ client_id: application, ...fields }).toString());

export const redeem = (replica: Door, credentials: Credentials, code: string, verifier: string): Promise<Answer> =>
  token(replica, credentials, { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri });

export const refresh = (replica: Door, credentials: Credentials, refresh_token: string): Promise<Answer> =>
  token(replica, credentials, { grant_type: 'refresh_token', refresh_token });

export const introspect = (replica: Door, value: string): Promise<Answer> =>
  replica.send(
    'POST',
    '/oauth/introspect',
    { ...form, authorization: basic(managementClient) },
    new URLSearchParams({ token: value }).toString(),
  );

export const tokensOf = (answer: Answer): Tokens => JSON.parse(answer.text) as Tokens;
export const isActive = (answer: Answer): boolean => (JSON.parse(answer.text) as { active: boolean }).active;
