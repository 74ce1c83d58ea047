// The practical ceiling: a bare Express handler that does only what no implementation can leave out, the signature and one named
// statement per state change. No consent, no audit, no limits, no log, no environments, no answer to a replayed code.
import { createHash, generateKeyPairSync, randomBytes, randomUUID, sign, timingSafeEqual, verify } from 'node:crypto';
import express, { type Request, type Response } from 'express';
import pg from 'pg';
import { createServer } from '../../src/http/server.js';
import { fixtures } from './target.js';

const port = Number(process.env['PORT']);
const issuer = `http://localhost:${port}`;
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] ?? '', max: 10 });
const sha256 = (text: string) => createHash('sha256').update(text).digest();
const token = (prefix: string) => prefix + randomBytes(32).toString('base64url');

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const headers = {
  'at+jwt': Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid: 'k' })).toString('base64url'),
  JWT: Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'JWT', kid: 'k' })).toString('base64url'),
};
const jwks = Buffer.from(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'RS256' }] }));
const discovery = Buffer.from(JSON.stringify({ issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks` }));
const secretDigest = sha256(fixtures.client.secret);

function signed(typ: keyof typeof headers, claims: object): Promise<string> {
  const input = `${headers[typ]}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return new Promise((resolve, reject) => {
    sign('sha256', Buffer.from(input), privateKey, (error, signature) =>
      error ? reject(error) : resolve(`${input}.${signature.toString('base64url')}`),
    );
  });
}

async function query(name: string, text: string, values: unknown[]): Promise<Record<string, unknown> | undefined> {
  return (await pool.query<Record<string, unknown>>({ name, text, values })).rows[0];
}

const authenticated = (req: Request) => {
  const [, secret = ''] = Buffer.from(req.headers.authorization?.slice(6) ?? '', 'base64')
    .toString()
    .split(':');
  return timingSafeEqual(sha256(secret), secretDigest);
};

const idToken = (sub: unknown, now: number) =>
  signed('JWT', { iss: issuer, sub, aud: fixtures.client.id, iat: now, exp: now + 3600, auth_time: now, sid: 's' });

async function code(form: Record<string, string>, now: number): Promise<object | null> {
  const values = { access_token: token('at_'), refresh_token: token('rt_') };
  const challenge = sha256(form['code_verifier'] ?? '').toString('base64url');
  const row = await query(
    'redeem',
    `with c as (update codes set used = true where digest = $1 and not used and redirect_uri = $2 and challenge = $3 and expires_at > now()
       returning *),
     a as (insert into access (digest, sub, scope, expires_at) select $4, sub, scope, now() + interval '1 hour' from c),
     r as (insert into refresh (digest, sub, scope, expires_at) select $5, sub, scope, now() + interval '14 days' from c)
     select * from c`,
    [sha256(form['code'] ?? ''), form['redirect_uri'], challenge, sha256(values.access_token), sha256(values.refresh_token)],
  );
  if (!row) return null;
  return { ...values, token_type: 'Bearer', expires_in: 3600, scope: row['scope'], id_token: await idToken(row['sub'], now) };
}

async function refresh(form: Record<string, string>, now: number): Promise<object | null> {
  const values = { access_token: token('at_'), refresh_token: token('rt_') };
  const row = await query(
    'rotate',
    `with o as (update refresh set used = true where digest = $1 and not used and expires_at > now() returning *),
     a as (insert into access (digest, sub, scope, expires_at) select $2, sub, scope, now() + interval '1 hour' from o),
     r as (insert into refresh (digest, sub, scope, expires_at) select $3, sub, scope, expires_at from o)
     select * from o`,
    [sha256(form['refresh_token'] ?? ''), sha256(values.access_token), sha256(values.refresh_token)],
  );
  if (!row) return null;
  return { ...values, token_type: 'Bearer', expires_in: 3600, scope: row['scope'], id_token: await idToken(row['sub'], now) };
}

async function machine(form: Record<string, string>, now: number): Promise<object> {
  const common = { token_type: 'Bearer', expires_in: 3600, scope: 'read' };
  if (form['resource'] === fixtures.resources.jwt) {
    const claims = {
      iss: issuer,
      sub: fixtures.client.id,
      aud: form['resource'],
      iat: now,
      exp: now + 3600,
      jti: randomUUID(),
      scope: 'read',
    };
    return { ...common, access_token: await signed('at+jwt', claims) };
  }
  const access_token = token('at_');
  const text = `insert into access (digest, sub, scope, expires_at) values ($1, $2, 'read', now() + interval '1 hour')`;
  await query('insert', text, [sha256(access_token), fixtures.client.id]);
  return { ...common, access_token };
}

async function tokenEndpoint(req: Request, res: Response): Promise<void> {
  const form = req.body as Record<string, string>;
  const now = Math.floor(performance.timeOrigin / 1000 + performance.now() / 1000);
  const grants = { authorization_code: code, refresh_token: refresh, client_credentials: machine };
  const known = form['client_id'] === fixtures.publicClient.id || authenticated(req);
  const answer = known ? await grants[form['grant_type'] as keyof typeof grants](form, now) : null;
  res.statusCode = answer ? 200 : 400;
  res.setHeader('Content-Type', 'application/json');
  res.end(JSON.stringify(answer ?? { error: 'invalid_grant' }));
}

async function authorize(req: Request, res: Response): Promise<void> {
  const asked = new URLSearchParams(req.url.slice(req.url.indexOf('?') + 1));
  const value = token('ac_');
  const row = await query(
    'authorize',
    `insert into codes (digest, sub, scope, redirect_uri, challenge, used, expires_at)
     select $1, sub, $3, $4, $5, false, now() + interval '1 minute' from sessions where digest = $2 and expires_at > now() returning 1 as one`,
    [sha256(value), sha256(req.headers.cookie?.slice(8) ?? ''), asked.get('scope'), asked.get('redirect_uri'), asked.get('code_challenge')],
  );
  if (!row) return void res.status(401).end();
  res.writeHead(303, { Location: `${fixtures.redirect_uri}?code=${value}&state=${asked.get('state') ?? ''}`, 'Content-Length': '0' }).end();
}

async function introspect(req: Request, res: Response): Promise<void> {
  const value = (req.body as Record<string, string>)['token'] ?? '';
  let answer: object = { active: false };
  const [head = '', body = '', tail] = value.split('.');
  if (tail !== undefined) {
    const genuine = verify('sha256', Buffer.from(`${head}.${body}`), publicKey, Buffer.from(tail, 'base64url'));
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as { jti: string };
    const revoked = await query('revoked', 'select 1 as one from revoked where jti = $1', [claims.jti]);
    if (genuine && !revoked) answer = { active: true, ...claims };
  } else {
    const row = await query('find', 'select sub, scope, expires_at from access where digest = $1', [sha256(value)]);
    if (row && authenticated(req)) answer = { active: true, ...row };
  }
  res.setHeader('Content-Type', 'application/json');
  res.end(JSON.stringify(answer));
}

async function userinfo(req: Request, res: Response): Promise<void> {
  const text = `select u.* from access a join users u on u.sub = a.sub where a.digest = $1 and a.expires_at > now()`;
  const row = await query('userinfo', text, [sha256(req.headers.authorization?.slice(7) ?? '')]);
  res.setHeader('Content-Type', 'application/json');
  res.end(JSON.stringify(row ?? { error: 'invalid_token' }));
}

await pool.query(`
  create table users (sub text primary key, email text, name text);
  insert into users values ('bench-user', 'bench@example.com', 'Grace Hopper');
  create table sessions (digest bytea primary key, sub text not null, expires_at timestamptz not null);
  insert into sessions select sha256(convert_to('session-' || n, 'utf8')), 'bench-user', now() + interval '1 day' from generate_series(1, 256) n;
  create table codes (digest bytea primary key, sub text, scope text, redirect_uri text, challenge text, used boolean, expires_at timestamptz);
  create table access (digest bytea primary key, sub text not null, scope text not null, expires_at timestamptz not null);
  create table refresh (digest bytea primary key, sub text, scope text, used boolean not null default false, expires_at timestamptz not null);
  create table revoked (jti text primary key)`);

const app = express();
app.disable('x-powered-by');
app.disable('etag');
const send = (body: Buffer) => (_req: Request, res: Response) => {
  res.setHeader('Content-Type', 'application/json');
  res.end(body);
};
app.get('/jwks', send(jwks));
app.get('/discovery', send(discovery));
const form = express.urlencoded({ extended: false });
app.post('/token', form, tokenEndpoint);
app.post('/introspect', form, introspect);
app.get('/authorize', authorize);
app.get('/userinfo', userinfo);
createServer(app).listen(port, '127.0.0.1');
