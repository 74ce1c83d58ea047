import { createHash, randomUUID } from 'node:crypto';
import type { Context } from '../src/domain/context.js';
import { acceptedIssuers } from '../src/domain/environment.js';
import { sessionBounds } from '../src/domain/sessions/sessions.js';
import { findAccessToken, findJwtStatus } from '../src/db/tables/access_tokens.js';
import { insertAuthorizationCode, redeemAuthorizationCode } from '../src/db/tables/authorization_codes.js';
import { insertClientAccessToken } from '../src/db/tables/client_tokens.js';
import { findRefreshToken } from '../src/db/tables/refresh_tokens.js';
import { useRefreshToken } from '../src/db/tables/refreshes.js';
import { findSessionByToken } from '../src/db/tables/sessions.js';
import { digest } from '../src/lib/digest.js';
import { randomToken, uuidv7 } from '../src/lib/random.js';
import { fixtures } from './targets/target.js';

/** What endpoints under load ask of the database, of the rows in use among `size`. Every one of them throws when it doesn't find what it looks for. */
export type HotOperation = { readonly name: string; run(): Promise<unknown> };

type Person = { readonly user_id: string; readonly session_id: string };

const audience = fixtures.resources.opaque;
const day = 86_400_000;

function found<T>(row: T | null | undefined, what: string): T {
  if (row === null || row === undefined) throw new Error(`${what} was not found`);
  return row;
}

/** People with live sessions, wherever they stand in the tables: so far apart that each is a read of its own, too many for one statement's time. */
async function peopleOf(ctx: Context, size: number): Promise<Person[]> {
  const people: Person[] = [];
  while (people.length < 4500) {
    const digests = Array.from({ length: 250 }, () => digest(`session ${Math.floor(size * (0.25 + 0.75 * Math.random()))}`));
    const { rows } = await ctx.db.knex.raw<{ rows: Person[] }>(
      `select s.user_id, s.id as session_id from sessions s join users u on u.environment_id = s.environment_id and u.id = s.user_id
       where s.environment_id = ? and s.token_digest = any (?) and s.revoked_at is null and s.expires_at > now() and u.status = 'active'`,
      [ctx.environment.id, digests],
    );
    people.push(...rows);
  }
  return people;
}

const times = (ctx: Context) => {
  const now = ctx.clock.now();
  return { now, jti: uuidv7(now.getTime()), event_id: uuidv7(now.getTime()) };
};
const nothing = { subscribers: [], bound: { jkt: null, refresh_jkt: null, proof: null }, authorization_details: null };

function insertToken(ctx: Context) {
  const { now, ...ids } = times(ctx);
  return insertClientAccessToken(ctx.scope, {
    ...ids,
    digest: digest(randomToken('at_')),
    client_id: fixtures.client.id,
    scope: 'read',
    audience,
    issued_at: now,
    jkt: null,
    proof: null,
    authorization_details: null,
    lifetime: 3600,
    grant_type: 'client_credentials',
    subscribers: [],
  });
}

/** Rotates the token of the row; those of people who are blocked are left alone. */
async function refresh(ctx: Context, id: string): Promise<void> {
  const { now, ...ids } = times(ctx);
  const state = found(
    await findRefreshToken(ctx.scope, { id, generation: 1 }, sessionBounds(ctx), { with_user: false }),
    'the refresh token',
  );
  if (state.problem === 'user') return;
  if (state.problem !== null) throw new Error(`the refresh token is ${state.problem}`);
  const used = await useRefreshToken(ctx.scope, {
    ...ids,
    ...nothing,
    use: {
      row: { id, generation: state.generation },
      successor: { id, digest: digest(randomToken('rt_')) },
      next_expires_at: new Date(now.getTime() + 30 * day),
    },
    now,
    access_token_format: 'opaque',
    access_token_digest: digest(randomToken('at_')),
    access_token_lifetime: 3600,
    scope: 'read',
    audience,
  });
  found(used, 'the refresh token');
}

async function code(ctx: Context, person: Person) {
  const { now, ...ids } = times(ctx);
  const value = digest(randomToken(''));
  const redirect_uri = fixtures.redirect_uri;
  const none = { resource: null, code_challenge: null };
  await insertAuthorizationCode(ctx.scope, {
    ...none,
    ...person,
    digest: value,
    grant_id: randomUUID(),
    client_id: fixtures.client.id,
    redirect_uri,
    scope: 'openid email',
    access_token_format: 'opaque',
    access_token_lifetime: 3600,
    nonce: null,
    dpop_jkt: null,
    claims: null,
    id_token_claims: null,
    auth_time: now,
    auth_time_requested: false,
    acr: '1',
    amr: ['pwd'],
    expires_at: new Date(now.getTime() + 60_000),
    request_id: null,
    organization_id: null,
    authorization_details: null,
  });
  const redeemed = await redeemAuthorizationCode(ctx.scope, {
    ...ids,
    ...nothing,
    ...none,
    organization: null,
    details: null,
    digest: value,
    client_id: fixtures.client.id,
    redirect_uri,
    issuer: 'https://issuer.bench.example',
    session_bounds: sessionBounds(ctx),
    access_token_digest: digest(randomToken('at_')),
    refresh: { id: randomUUID(), digest: digest(randomToken('rt_')) },
    ends: { refresh_expires_at: new Date(now.getTime() + 30 * day), grant_expires_at: new Date(now.getTime() + 90 * day) },
    with_user: false,
  });
  if (redeemed === null || redeemed === 'used proof' || redeemed.problem !== null) throw new Error('the code gave nothing');
}

/** How many tokens, sessions and people are in use, spread over all of them: their rows are in memory, and the others needn't be. */
const inUse = 5000;

/** The hot operations on tables of so many rows. */
export async function hotOperations(ctx: Context, size: number): Promise<HotOperation[]> {
  const people = await peopleOf(ctx, size);
  const used = Array.from({ length: inUse }, () => Math.floor(Math.random() * size));
  const any = () => used[Math.floor(Math.random() * used.length)] as number;
  const anybody = () => people[Math.floor(Math.random() * people.length)] as Person;
  const token = () => digest(`token ${any()}`);
  const issuers = acceptedIssuers(ctx);
  // One after the other, so that no two uses wait for one row.
  const rows = [...new Set(used)].map((n) => createHash('md5').update(`refresh row ${n}`).digest('hex'));
  return [
    {
      name: 'introspection, opaque',
      run: async () => found(await findAccessToken(ctx.scope, token(), 'permissions', issuers), 'the token'),
    },
    {
      name: 'introspection, JWT',
      run: () => {
        const { user_id, session_id } = anybody();
        return findJwtStatus(
          ctx.scope,
          { ids: [randomUUID(), randomUUID()], user_id, session_id, organization_id: null, issued_at: ctx.clock.now(), resource: audience },
          'permissions',
        );
      },
    },
    { name: 'userinfo', run: async () => found(await findAccessToken(ctx.scope, token(), 'user', issuers), 'the token') },
    { name: 'session', run: async () => found(await findSessionByToken(ctx.scope, digest(`session ${any()}`)), 'the session') },
    { name: 'token, opaque', run: () => insertToken(ctx) },
    { name: 'code, stored and redeemed', run: () => code(ctx, anybody()) },
    {
      name: 'refresh, read and rotated',
      async run() {
        const row = rows.shift() as string;
        await refresh(ctx, row);
        rows.push(row);
      },
    },
  ];
}
