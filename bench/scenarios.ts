import { createHash, generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto';
import { Connection, requestText, type Operation, type Reply } from './driver.js';
import type { Target } from './targets/target.js';

/** What is measured: `open` makes the operation of one connection, with whatever it needs to exist before. */
export type Scenario = { readonly name: string; readonly title: string; open(target: Target): Promise<Operation> };

const basic = ({ id, secret }: { id: string; secret: string }) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

type Json = Record<string, unknown> & { access_token: string; refresh_token: string; id_token: string };

function ok(reply: Reply, status = 200): Reply {
  if (reply.status !== status) throw new Error(`expected ${status}, got ${reply.status}: ${reply.head}\n${reply.body.slice(0, 500)}`);
  return reply;
}

const json = (reply: Reply) => JSON.parse(ok(reply).body) as Json;

function expectThat(condition: boolean, what: string, reply: Reply): void {
  if (!condition) throw new Error(`${what}: ${reply.body.slice(0, 500)}`);
}

const host = (target: Target) => ({ Host: `localhost:${target.port}` });

function tokenText(target: Target, fields: Record<string, string>): string {
  return requestText('POST', target.paths.token, { ...host(target), Authorization: basic(target.client) }, fields);
}

const machineText = (target: Target, resource: string) => tokenText(target, { grant_type: 'client_credentials', resource, scope: 'read' });

const isJwt = (token: string) => token.split('.').length === 3;

function machine(kind: keyof Target['resources']) {
  return async (target: Target): Promise<Operation> => {
    const text = machineText(target, target.resources[kind]);
    return async (connection) => {
      const reply = await connection.send(text);
      expectThat(isJwt(json(reply).access_token) === (kind !== 'opaque'), `expected ${kind}`, reply);
    };
  };
}

/** A new DPoP proof for each request, as RFC 9449 wants it; one key for each connection. */
async function openBoundMachine(target: Target): Promise<Operation> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = encoded({ typ: 'dpop+jwt', alg: 'ES256', jwk: publicKey.export({ format: 'jwk' }) });
  const htu = `http://localhost:${target.port}${target.paths.token}`;
  const proof = () => {
    const input = `${header}.${encoded({ jti: randomUUID(), htm: 'POST', htu, iat: Math.floor(Date.now() / 1000) })}`;
    return `${input}.${sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
  };
  const fields = { grant_type: 'client_credentials', resource: target.resources.jwt, scope: 'read' };
  return async (connection) => {
    const headers = { ...host(target), Authorization: basic(target.client), DPoP: proof() };
    const reply = await connection.send(requestText('POST', target.paths.token, headers, fields));
    expectThat(json(reply)['token_type'] === 'DPoP', 'expected a bound token', reply);
  };
}

async function once(target: Target, text: string): Promise<Reply> {
  const connection = new Connection(target.port);
  return connection.send(text).finally(() => connection.close());
}

function introspect(kind: 'jwt' | 'opaque') {
  return async (target: Target): Promise<Operation> => {
    const token = json(await once(target, machineText(target, target.resources[kind]))).access_token;
    const text = requestText('POST', target.paths.introspect, { ...host(target), Authorization: basic(target.client) }, { token });
    return async (connection) => {
      const reply = await connection.send(text);
      expectThat(ok(reply).body.includes('"active":true'), 'expected an active token', reply);
    };
  };
}

/** Leaves the request at the service (RFC 9126), and answers what the browser brings in its place. */
async function pushed(connection: Connection, target: Target, request: URLSearchParams): Promise<URLSearchParams> {
  const headers = { ...host(target), Authorization: basic(target.client) };
  const answer = ok(await connection.send(requestText('POST', target.paths.par, headers, Object.fromEntries(request))), 201);
  const { request_uri } = JSON.parse(answer.body) as { request_uri: string };
  return new URLSearchParams({ client_id: target.client.id, request_uri });
}

/** Exchanges a code, as the confidential client of the bench or as one without a secret. Answers the token response. */
export async function redeemCode(
  connection: Connection,
  target: Target,
  client: { id: string; secret: string | null },
  code: string,
  code_verifier: string,
): Promise<Json> {
  const fields = { grant_type: 'authorization_code', code, redirect_uri: target.redirect_uri, code_verifier };
  const text =
    client.secret === null
      ? requestText('POST', target.paths.token, host(target), { ...fields, client_id: client.id })
      : tokenText(target, fields);
  return json(await connection.send(text));
}

/** Sign-in that has happened already: authorize, follow to the code, exchange it. Answers the token response. */
async function codeFlow(
  connection: Connection,
  target: Target,
  cookie: string,
  client: { id: string; secret: string | null },
  push = false,
): Promise<Json> {
  const verifier = randomBytes(32).toString('base64url');
  const request = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: target.redirect_uri,
    scope: 'openid profile email',
    state: 'x',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const query = push ? await pushed(connection, target, request) : request;
  const sent = await connection.send(
    requestText('GET', `${target.paths.authorize}?${query.toString()}`, { ...host(target), Cookie: cookie }),
  );
  const location = /\r\nlocation: (\S+)/i.exec(sent.head)?.[1] ?? '';
  const code = location.startsWith(target.redirect_uri) ? new URL(location).searchParams.get('code') : null;
  if (code === null) throw new Error(`no code: ${sent.head}\n${sent.body.slice(0, 300)}`);
  return redeemCode(connection, target, client, code, verifier);
}

const openCodeFlow =
  (push: boolean) =>
  async (target: Target): Promise<Operation> => {
    const cookie = await target.session();
    return async (connection) => {
      const tokens = await codeFlow(connection, target, cookie, target.client, push);
      if (!isJwt(tokens.id_token) || !tokens.refresh_token || isJwt(tokens.access_token)) throw new Error('a token is missing');
    };
  };

async function openedTokens(target: Target, client: { id: string; secret: string | null }): Promise<Json> {
  const connection = new Connection(target.port);
  return codeFlow(connection, target, await target.session(), client).finally(() => connection.close());
}

async function openRefresh(target: Target): Promise<Operation> {
  let { refresh_token } = await openedTokens(target, { ...target.publicClient, secret: null });
  return async (connection) => {
    const fields = { grant_type: 'refresh_token', refresh_token, client_id: target.publicClient.id };
    const tokens = json(await connection.send(requestText('POST', target.paths.token, host(target), fields)));
    if (tokens.refresh_token === refresh_token || !isJwt(tokens.id_token)) throw new Error('the refresh token was not rotated');
    refresh_token = tokens.refresh_token;
  };
}

async function openUserinfo(target: Target): Promise<Operation> {
  const { access_token } = await openedTokens(target, target.client);
  const text = requestText('GET', target.paths.userinfo, { ...host(target), Authorization: `Bearer ${access_token}` });
  return async (connection) => {
    const reply = await connection.send(text);
    expectThat(ok(reply).body.includes('"email"'), 'expected the claims', reply);
  };
}

function document(name: 'jwks' | 'discovery', proof: string) {
  return async (target: Target): Promise<Operation> => {
    const text = requestText('GET', target.paths[name], host(target));
    return async (connection) => {
      const reply = await connection.send(text);
      expectThat(ok(reply).body.includes(proof), `expected ${name}`, reply);
    };
  };
}

/** A device asks whether its person has answered, who hasn't: every connection for a device of its own, and faster than any device may. */
async function openDevicePoll(target: Target): Promise<Operation> {
  const start = requestText(
    'POST',
    '/oauth/device_authorization',
    { ...host(target), Authorization: basic(target.client) },
    { scope: 'openid' },
  );
  const { device_code } = JSON.parse(ok(await once(target, start)).body) as { device_code: string };
  const text = tokenText(target, { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code });
  return async (connection) => {
    const reply = await connection.send(text);
    expectThat(/"(?:slow_down|authorization_pending)"/.test(ok(reply, 400).body), 'expected to be told to wait', reply);
  };
}

/** Everything that is compared side by side. */
export const scenarios: readonly Scenario[] = [
  { name: 'cc_jwt', title: 'client credentials, RS256 JWT', open: machine('jwt') },
  { name: 'cc_jwt_es256', title: 'client credentials, ES256 JWT', open: machine('ES256') },
  { name: 'cc_jwt_eddsa', title: 'client credentials, EdDSA JWT', open: machine('EdDSA') },
  { name: 'cc_jwt_dpop', title: 'client credentials, RS256 JWT bound by DPoP', open: openBoundMachine },
  { name: 'cc_opaque', title: 'client credentials, opaque', open: machine('opaque') },
  { name: 'introspect', title: 'introspection, opaque', open: introspect('opaque') },
  { name: 'introspect_jwt', title: 'introspection, JWT', open: introspect('jwt') },
  { name: 'code_flow', title: 'code flow + PKCE, live session', open: openCodeFlow(false) },
  { name: 'code_par', title: 'the same, pushed first', open: openCodeFlow(true) },
  { name: 'device_poll', title: 'a device asks, unanswered', open: openDevicePoll },
  { name: 'refresh', title: 'refresh with rotation', open: openRefresh },
  { name: 'userinfo', title: 'userinfo', open: openUserinfo },
  { name: 'jwks', title: 'JWKS', open: document('jwks', '"keys"') },
  { name: 'discovery', title: 'discovery', open: document('discovery', '"issuer"') },
];
