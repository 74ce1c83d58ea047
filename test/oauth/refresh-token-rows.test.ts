// One row a grant: what a refresh token says of itself, which generation is good, and what passes for none.
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import type { RefreshTokenRow } from '../../src/db/tables/refresh_tokens.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { digest } from '../../src/lib/digest.js';
import { randomToken } from '../../src/lib/random.js';
import { createSealer, type Sealer } from '../../src/lib/seal.js';
import type { Browser } from '../support/browser.js';
import { addClient, addEnvironment, addUser, type TestClient } from '../support/data.js';
import { createProofKey } from '../support/dpop.js';
import { authorizeCode, oauthPost, redeem, tokenRequest, type TokenAnswer } from '../support/oauth.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { auditRows } from '../support/security-events.js';
import { signedIn } from '../support/signed-in.js';

const before = randomBytes(32).toString('base64');
const service = sharedService(() => startTestService({ SECRET_KEY_PREVIOUS: before }));
const ctx = contextOf(service);
const publicClient = { token_endpoint_auth_method: 'none', application_type: 'spa', require_pkce: true } as const;
const spa = shared(() => addClient(ctx, publicClient));
const other = shared(() => addClient(ctx, publicClient));
const confidential = shared(() => addClient(ctx));
let user: UserRow;
let browser: Browser;

beforeEach(async () => {
  user = await addUser(ctx);
  browser = await signedIn(service, user);
});

const rows = (): Promise<RefreshTokenRow[]> => ctx.db.knex('refresh_tokens').where({ user_id: user.id }).orderBy('issued_at');
const refresh = (refresh_token: string, as: TestClient = spa, headers: Record<string, string> = {}) =>
  oauthPost(service.url, '/oauth/token', as, { grant_type: 'refresh_token', refresh_token }, headers);
const refused = ({ status, body }: TokenAnswer) => [status, body.error];
const unknown = [400, 'invalid_grant'];
const reuses = async () => (await auditRows(service, 'refresh_token.reused')).filter(({ target_id }) => target_id === user.id).length;
const isActive = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', confidential, { token })).body['active'];

/** The first token of a new grant, with its access token. */
async function granted(): Promise<{ token: string; access_token: string }> {
  const { body } = await redeem(service.url, spa, await authorizeCode(browser, spa));
  return { token: body.refresh_token as string, access_token: body.access_token };
}

/** Refreshes so often. @returns all tokens, the first one first */
async function chainOf(length: number, token: string): Promise<string[]> {
  const chain = [token];
  while (chain.length <= length) {
    const { status, body } = await refresh(chain.at(-1) as string);
    expect(status).toBe(200);
    chain.push(body.refresh_token as string);
  }
  return chain;
}

/** What a token is made of, written down once more: 16 bytes of the row's id, 6 of its generation, 32 of their MAC. */
type Parts = { id: Buffer; generation: number; mac: Buffer };
const partsOf = (token: string): Parts => {
  const bytes = Buffer.from(token.slice(3), 'base64url');
  return { id: bytes.subarray(0, 16), generation: bytes.readUIntBE(16, 6), mac: bytes.subarray(22) };
};
function tokenOf({ id, generation, mac }: Parts): string {
  const bytes = Buffer.alloc(22);
  id.copy(bytes);
  bytes.writeUIntBE(generation, 16, 6);
  return `rt_${Buffer.concat([bytes, mac]).toString('base64url')}`;
}
const uuidOf = (id: Buffer) => id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** That generation, with the MAC that whoever has the key can make. */
function made(token: string, generation: number, sealer: Sealer, environment_id = ctx.environment.id): string {
  const { id } = partsOf(token);
  return tokenOf({ id, generation, mac: sealer.digest('refresh token', `${environment_id} ${uuidOf(id)} ${generation}`) });
}

/** Presents them, each to no avail: invalid_grant, nothing is written, and the newest token goes on. */
async function expectNothing(newest: string, forged: readonly string[], as: TestClient = spa): Promise<void> {
  const stood = await rows();
  for (const token of forged) {
    expect(refused(await refresh(token, as))).toEqual(unknown);
    if (as === spa) expect((await oauthPost(service.url, '/oauth/revoke', spa, { token })).status).toBe(200);
  }
  expect([await rows(), await reuses()]).toEqual([stood, 0]);
  expect((await refresh(newest)).status).toBe(200);
}

test('a session has one row, however often its token is rotated (specification 5.6.4)', async () => {
  const chain = await chainOf(40, (await granted()).token);
  expect(new Set(chain).size).toBe(41);
  const [row, ...more] = await rows();
  expect([row?.generation, row?.rotated_at, more]).toEqual([41, null, []]);
  expect(row?.digest).toEqual(digest(chain.at(-1) as string));
  expect(chain.map((token) => [uuidOf(partsOf(token).id), partsOf(token).generation])).toEqual(chain.map((_, i) => [row?.id, i + 1]));
});

test('introspection tells of the newest generation alone (specification 5.7.1)', async () => {
  const { body } = await redeem(service.url, confidential, await authorizeCode(browser, confidential));
  const first = body.refresh_token as string;
  expect((await refresh(first, confidential)).body.refresh_token).toBe(first);
  service.clock.advance(ctx.environment.refresh_token_idle_lifetime * 1000 * 0.75);
  browser = await signedIn(service, user);
  const second = (await refresh(first, confidential)).body.refresh_token as string;
  expect(partsOf(second).generation).toBe(2);
  const forged = tokenOf({ ...partsOf(second), mac: randomBytes(32) });
  const beyond = made(second, 3, ctx.crypto.sealer);
  expect(await Promise.all([first, second, forged, beyond].map(isActive))).toEqual([false, true, false, false]);
});

describe('retries', () => {
  test('of each generation of the last 30 s have its own successor, and no earlier one is told apart for ever (specification 5.6.2)', async () => {
    const [first, second, third, fourth] = await chainOf(3, (await granted()).token);
    for (const [presented, successor] of [
      [first, second],
      [third, fourth],
      [second, third],
      [first, second],
    ])
      expect((await refresh(presented as string)).body.refresh_token).toBe(successor);
    service.clock.advance(20_000);
    const fifth = (await refresh(fourth as string)).body.refresh_token;
    service.clock.advance(20_000);
    expect((await refresh(fourth as string)).body.refresh_token).toBe(fifth);
    expect((await rows()).map(({ rotations }) => rotations.length)).toEqual([4]);
    expect(refused(await refresh(third as string))).toEqual(unknown);
    expect([await reuses(), refused(await refresh(fifth as string))]).toEqual([1, unknown]);
  });

  test('are told apart for a hundred rotations, and times that have gone by are forgotten (specification 5.6.2)', async () => {
    const chain = await chainOf(103, (await granted()).token);
    expect((await rows())[0]?.rotations).toHaveLength(100);
    expect((await refresh(chain[3] as string)).body.refresh_token).toBe(chain[4]);
    service.clock.advance(31_000);
    await refresh(chain.at(-1) as string);
    expect((await rows())[0]?.rotations).toHaveLength(1);
  });

  test('twenty uses of one generation at once rotate once, and have one successor (attack 61.1828)', async () => {
    const { token } = await granted();
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(token)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    expect((await rows()).map(({ generation }) => generation)).toEqual([2]);
    expect((await refresh(answers[0]?.body.refresh_token as string)).status).toBe(200);
  });
});

describe('forged', () => {
  test('a generation under the MAC of another one, or a MAC of whoever reads the database: nothing (attack 61.1820)', async () => {
    const chain = await chainOf(3, (await granted()).token);
    const newest = chain.at(-1) as string;
    service.clock.advance(31_000);
    const parts = partsOf(newest);
    const [row] = await rows();
    const readers = [row?.digest, row?.previous_digest, randomBytes(32), Buffer.alloc(32)] as Buffer[];
    const forged = [0, 1, 2, 3, 4, 5, 2 ** 31, 2 ** 48 - 1].flatMap((generation) => [
      ...(generation === 4 ? [] : [tokenOf({ ...parts, generation })]),
      ...readers.map((mac) => tokenOf({ ...parts, generation, mac })),
      made(newest, generation, createSealer(randomBytes(32).toString('base64'))),
    ]);
    await expectNothing(newest, forged);
  });

  test('a generation beyond the row, as after a restore of an earlier state: refused, and it ends nothing (attack 61.1821)', async () => {
    const chain = await chainOf(2, (await granted()).token);
    const [earlier] = await rows();
    const later = (await chainOf(2, chain.at(-1) as string)).slice(1);
    service.clock.advance(31_000);
    const { environment_id, id, ...state } = earlier as RefreshTokenRow;
    await ctx.db
      .knex('refresh_tokens')
      .where({ environment_id, id })
      .update(state as object);
    const { generation } = state;
    const beyond = [generation + 1, generation + 9, 2 ** 40].map((one) => made(chain[0] as string, one, ctx.crypto.sealer));
    // What the row says is good: the person whose application has a later one signs in again.
    await expectNothing(chain.at(-1) as string, [...later, ...beyond]);
    expect((await rows()).map((row) => row.generation)).toEqual([generation + 1]);
  });

  test('another client’s, of whichever generation: refused, and it ends nothing (attack 61.1822)', async () => {
    const chain = await chainOf(2, (await granted()).token);
    service.clock.advance(31_000);
    await expectNothing(chain.at(-1) as string, chain, other);
  });

  test('another environment’s: there it is nothing, and no MAC of one is good in the other (attack 61.1823)', async () => {
    const foreign = await addEnvironment(service.deps, 'staging');
    const theirs = await addClient(foreign, publicClient);
    const chain = await chainOf(2, (await granted()).token);
    service.clock.advance(31_000);
    const stood = await rows();
    const host = `staging.localhost:${service.config.port}`;
    for (const refresh_token of chain) {
      const form = new URLSearchParams({ grant_type: 'refresh_token', client_id: theirs.id, refresh_token }).toString();
      const answer = await new Promise<string>((resolve, reject) => {
        const headers = { host, 'content-type': 'application/x-www-form-urlencoded' };
        const call = request(`${service.url}/oauth/token`, { method: 'POST', headers }, (res) => {
          let text = '';
          res.on('data', (chunk) => (text += chunk));
          res.on('end', () => resolve(text));
        });
        call.on('error', reject);
        call.end(form);
      });
      expect(JSON.parse(answer)).toMatchObject({ error: 'invalid_grant', error_description: expect.stringContaining('unknown') });
    }
    expect(await rows()).toEqual(stood);
    const newest = chain.at(-1) as string;
    await expectNothing(newest, [made(newest, 1, ctx.crypto.sealer, foreign.environment.id)]);
  });

  test('cut, extended or recased: nothing (attack 61.1824)', async () => {
    const chain = await chainOf(3, (await granted()).token);
    const newest = chain.at(-1) as string;
    service.clock.advance(31_000);
    const forged = chain.flatMap((token) => [
      token.slice(0, -1), token.slice(0, 46), token.slice(0, 3), `${token}A`, `${token}=`, ` ${token}`, token.slice(3), token.toUpperCase(),
      `rt_${token.slice(3).split('').reverse().join('')}`, `${token.slice(0, 40)}.${token.slice(41)}`,
    ]); // prettier-ignore
    await expectNothing(newest, forged);
  });

  test('the MAC of another grant of the same person: nothing (attack 61.1820)', async () => {
    const [one, another] = [await chainOf(2, (await granted()).token), await chainOf(2, (await granted()).token)];
    service.clock.advance(31_000);
    const swapped = (own: string[], foreign: string[]) =>
      own.map((token, i) => tokenOf({ ...partsOf(token), mac: partsOf(foreign[i] as string).mac }));
    await expectNothing(one.at(-1) as string, [...swapped(one, another), ...swapped(another, one)]);
    expect((await refresh(another.at(-1) as string)).status).toBe(200);
  });
});

describe('reused', () => {
  test.each([0, 60, 118])('generation %i of a long chain ends the grant with its access tokens, once (attack 61.1826)', async (index) => {
    const { token, access_token } = await granted();
    const chain = await chainOf(120, token);
    service.clock.advance(31_000);
    const newest = await refresh(chain.at(-1) as string);
    expect(await isActive(access_token)).toBe(true);
    expect(refused(await refresh(chain[index] as string))).toEqual(unknown);
    expect(await reuses()).toBe(1);
    expect(refused(await refresh(newest.body.refresh_token as string))).toEqual(unknown);
    for (const dead of [access_token, newest.body.access_token, newest.body.refresh_token as string])
      expect(await isActive(dead)).toBe(false);
  });

  test('what was bound to a key after it, by whoever has it; what is bound itself, by whoever holds the key (attack 61.1830)', async () => {
    const key = await createProofKey('ES256', () => service.clock.now().getTime());
    const proof = async () => ({ dpop: await key.proof({ htu: `${service.url}/oauth/token` }) });
    const { token: unbound } = await granted();
    const bound = (await refresh(unbound, spa, await proof())).body.refresh_token as string;
    const newest = (await refresh(bound, spa, await proof())).body.refresh_token as string;
    expect((await refresh(unbound)).body.refresh_token).toBe(bound);
    service.clock.advance(31_000);
    expect(refused(await refresh(bound))).toEqual(unknown);
    expect((await refresh(newest, spa, await proof())).status).toBe(200);
    expect(await reuses()).toBe(0);
    expect(refused(await refresh(unbound))).toEqual(unknown);
    expect(await reuses()).toBe(1);
  });
});

describe('of an earlier release, with a row to itself', () => {
  /** Makes of a new grant what an earlier release would have stored. */
  async function earlier(): Promise<string> {
    const { token } = await granted();
    const old = randomToken('rt_');
    const columns = { id: null, generation: 0, digest: digest(old) };
    await ctx.db
      .knex('refresh_tokens')
      .where({ digest: digest(token) })
      .update(columns);
    return old;
  }

  /** What a process of an earlier release does: it marks the row, and stores the successor as a row. */
  async function rotatedThere(token: string): Promise<string> {
    const successor = `rt_${ctx.crypto.sealer.digest('refresh successor', token).toString('base64url')}`;
    const [row] = (await ctx.db.knex('refresh_tokens').where({ digest: digest(token) })) as RefreshTokenRow[];
    const {
      id: _id,
      generation: _generation,
      previous_digest: _digest,
      rotations: _rotations,
      bound_from: _from,
      ...known
    } = row as RefreshTokenRow;
    const details = row?.authorization_details && JSON.stringify(row.authorization_details);
    const now = service.clock.now();
    await ctx.db
      .knex('refresh_tokens')
      .where({ digest: digest(token) })
      .update({ rotated_at: now });
    const insert = { ...known, digest: digest(successor), issued_at: now, authorization_details: details, claims: null };
    await ctx.db.knex('refresh_tokens').insert(insert as object);
    return successor;
  }

  test('it is good, and what follows begins a row that stays (specification 5.6.4)', async () => {
    const old = await earlier();
    const first = (await refresh(old)).body.refresh_token as string;
    expect(partsOf(first).generation).toBe(1);
    expect((await refresh(old)).body.refresh_token).toBe(first);
    const chain = await chainOf(5, first);
    // Its retry is given what followed it, although that has been rotated.
    expect((await refresh(old)).body.refresh_token).toBe(first);
    expect((await rows()).map(({ id, generation }) => [id, generation])).toEqual([
      [null, 0],
      [uuidOf(partsOf(first).id), 6],
    ]);
    expect((await refresh(chain.at(-1) as string)).status).toBe(200);
  });

  test('twenty uses of it at once have one successor (attack 61.1828)', async () => {
    const old = await earlier();
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(old)));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.refresh_token}`)).size).toBe(1);
    expect(await rows()).toHaveLength(2);
    expect((await refresh(answers[0]?.body.refresh_token as string)).status).toBe(200);
  });

  test('reused, it ends the grant, also what follows in a row (attack 61.1827)', async () => {
    const old = await earlier();
    const chain = await chainOf(3, (await refresh(old)).body.refresh_token as string);
    service.clock.advance(31_000);
    const newest = (await refresh(chain.at(-1) as string)).body.refresh_token as string;
    expect(refused(await refresh(old))).toEqual(unknown);
    expect([await reuses(), refused(await refresh(newest))]).toEqual([1, unknown]);
  });

  test('a process of it rotates a token of a row: the retry has its successor, reuse ends the grant (attack 61.1827)', async () => {
    const [first, second] = await chainOf(1, (await granted()).token);
    const theirs = await rotatedThere(second as string);
    expect((await refresh(second as string)).body.refresh_token).toBe(theirs);
    expect((await refresh(first as string)).body.refresh_token).toBe(second);
    const ours = (await refresh(theirs)).body.refresh_token as string;
    expect(partsOf(ours).generation).toBe(1);
    const old = await earlier();
    const there = await rotatedThere(old);
    expect((await refresh(old)).body.refresh_token).toBe(there);
    service.clock.advance(31_000);
    expect((await refresh(ours)).status).toBe(200);
    expect(await reuses()).toBe(0);
    expect(refused(await refresh(first as string))).toEqual(unknown);
    expect(refused(await refresh(second as string))).toEqual(unknown);
    expect(await reuses()).toBeGreaterThan(0);
    expect(refused(await refresh(ours))).toEqual(unknown);
  });
});

describe('the key of its MAC', () => {
  /** As if a process had made the row’s newest token with that key. */
  async function remade(token: string, sealer: Sealer): Promise<string> {
    const again = made(token, partsOf(token).generation, sealer);
    await ctx.db
      .knex('refresh_tokens')
      .where({ digest: digest(token) })
      .update({ digest: digest(again) });
    return again;
  }

  test('is the one before: its tokens are good, their reuse ends the grant, and a retry has what was stored (specification 15.7.2)', async () => {
    const sealer = createSealer(before);
    const first = await remade((await granted()).token, sealer);
    const second = await remade((await refresh(first)).body.refresh_token as string, sealer);
    expect((await refresh(first)).body.refresh_token).toBe(second);
    const chain = await chainOf(3, second);
    service.clock.advance(31_000);
    expect((await refresh(chain.at(-1) as string)).status).toBe(200);
    expect([refused(await refresh(first)), await reuses()]).toEqual([unknown, 1]);
  });

  test('is gone: the newest token and its retry go on, and that key makes nothing else (attack 61.1829)', async () => {
    const gone = createSealer(randomBytes(32).toString('base64'));
    const first = await remade((await granted()).token, gone);
    const second = (await refresh(first)).body.refresh_token as string;
    expect((await refresh(first)).body.refresh_token).toBe(second);
    const third = (await refresh(second)).body.refresh_token as string;
    service.clock.advance(31_000);
    await expectNothing(third, [first, made(first, 3, gone), made(first, 4, gone)]);
  });

  test('is gone, and the token before the newest one is reused: the grant ends (attack 61.1829)', async () => {
    const first = await remade((await granted()).token, createSealer(randomBytes(32).toString('base64')));
    const second = (await refresh(first)).body.refresh_token as string;
    service.clock.advance(31_000);
    expect([refused(await refresh(first)), await reuses(), refused(await refresh(second))]).toEqual([unknown, 1, unknown]);
  });
});

test('an earlier generation ends the grant at the revocation endpoint, as the newest does (specification 5.7.3)', async () => {
  const chain = await chainOf(2, (await granted()).token);
  expect((await oauthPost(service.url, '/oauth/revoke', spa, { token: chain[0] as string })).status).toBe(200);
  expect(refused(await tokenRequest(service.url, spa, { grant_type: 'refresh_token', refresh_token: chain.at(-1) as string }))).toEqual(
    unknown,
  );
  expect(await reuses()).toBe(0);
});
