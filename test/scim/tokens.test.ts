import { describe, expect, test } from 'vitest';
import { changeDirectory, createDirectory, revokePreviousToken, rotateToken } from '../../src/domain/directories/directories.js';
import { listRequests } from '../../src/domain/directories/requests.js';
import { transaction } from '../../src/domain/context.js';
import { addDirectory, sendScim, type TestDirectory } from '../support/directories.js';
import { auditRows } from '../support/security-events.js';
import { addEnvironment } from '../support/data.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { startTestService } from '../support/service.js';

const service = sharedService();
const ctx = contextOf(service);
const acme = shared(() => addDirectory(ctx, 'acme.example'));
const other = shared(() => addDirectory(ctx, 'other.example'));

const get = (directory: Pick<TestDirectory, 'url'>, token: string | null, path = '/Users') =>
  sendScim(`${directory.url}${path}`, token, 'GET');

const unauthorized = {
  schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
  status: '401',
  detail: 'The token is not good for this directory.',
};

describe('the token of a directory', () => {
  test('missing, wrong, another directory’s, of one that is disabled or gone: one answer (attack 46.1340)', async () => {
    const disabled = await addDirectory(ctx, 'disabled.example');
    await transaction(ctx, (tx) => changeDirectory(tx, disabled.directory, { status: 'disabled' }));
    const closed = await addDirectory(ctx, 'closed.example');
    await ctx.db.knex('organizations').where({ id: closed.organization.id }).update({ status: 'disabled' });
    const gone = await addDirectory(ctx, 'gone.example');
    await gone.send('GET', '/Users');
    await ctx.db.knex('directories').where({ id: gone.directory.id }).delete();
    const answers = await Promise.all([
      get(acme, null),
      get(acme, 'nonsense'),
      get(acme, `scim_${'A'.repeat(43)}`),
      get(acme, other.token),
      get(disabled, disabled.token),
      get(closed, closed.token),
      get(gone, gone.token),
      get({ url: acme.url.replace(acme.directory.id, 'nonsense') }, acme.token),
      get({ url: acme.url.replace(acme.directory.id, other.directory.id) }, acme.token),
      get(acme, null, '/ServiceProviderConfig'),
      get(acme, null, '/Me'),
      get(acme, null, '/nothing'),
    ]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 401, body: unauthorized });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="scim"');
    }
    expect((await get(acme, acme.token)).status).toBe(200);
    expect((await auditRows(service, 'directory.authentication_failed')).length).toBeGreaterThan(0);
  });

  test('opens no other organization’s people or groups (attack 46.1341)', async () => {
    const { body } = await other.send('POST', '/Users', { userName: 'them@other.example' });
    const group = (await other.send('POST', '/Groups', { displayName: 'Theirs' })).body as { id: string };
    for (const path of [`/Users/${body.id}`, `/Groups/${group.id}`]) {
      for (const method of ['GET', 'DELETE']) expect((await acme.send(method, path)).status).toBe(404);
      expect((await acme.send('PATCH', path, { Operations: [{ op: 'replace', path: 'displayName', value: 'x' }] })).status).toBe(404);
      expect((await acme.send('PUT', path, { userName: 'them@acme.example', displayName: 'x' })).status).toBe(404);
      expect((await other.send('GET', path)).status).toBe(200);
    }
    for (const filter of [`id eq "${body.id}"`, 'userName eq "them@other.example"', 'userName pr or active pr'])
      expect((await acme.send('GET', `/Users?filter=${encodeURIComponent(filter)}`)).body.Resources).toEqual([]);
    expect((await acme.send('GET', `/Groups?filter=members.value eq "${body.id}"`)).body.totalResults).toBe(0);
  });

  test('opens nothing of another environment (attack 46.1341)', async () => {
    const staging = await addEnvironment(service.deps, 'staging');
    const theirs = await addDirectory(staging, 'staging.example');
    expect((await get(acme, theirs.token)).status).toBe(401);
    const path = new URL(theirs.url).pathname;
    expect((await sendScim(`${service.url}${path}/Users`, theirs.token, 'GET')).status).toBe(401);
  });

  test('is rotated: the one before is good for seven days, or until it is revoked, and one before that is not (attack 46.1349)', async () => {
    const made = await addDirectory(ctx, 'rotated.example');
    const rotate = async () => {
      const row = await ctx.db.knex('directories').where({ id: made.directory.id }).first();
      return transaction(ctx, (tx) => rotateToken(tx, row as typeof made.directory));
    };
    const second = await rotate();
    expect(await Promise.all([made.token, second.token].map(async (token) => (await get(made, token)).status))).toEqual([200, 200]);
    const third = await rotate();
    expect(await Promise.all([made.token, second.token, third.token].map(async (token) => (await get(made, token)).status))).toEqual([
      401, 200, 200,
    ]);
    await transaction(ctx, (tx) => revokePreviousToken(tx, third.directory));
    expect((await get(made, second.token)).status).toBe(401);
    await expect(transaction(ctx, (tx) => revokePreviousToken(tx, { ...third.directory, previous_token_digest: null }))).rejects.toThrow(
      'no earlier token',
    );
    const fourth = await rotate();
    service.clock.advance(7 * 86_400_000 - 60_000);
    expect((await get(made, third.token)).status).toBe(200);
    service.clock.advance(120_000);
    expect((await get(made, third.token)).status).toBe(401);
    expect((await get(made, fourth.token)).status).toBe(200);
  });

  test('is stored as a digest, and an organization has one directory', async () => {
    const row = (await ctx.db.knex('directories').where({ id: acme.directory.id }).first()) as Record<string, unknown>;
    expect(JSON.stringify(row)).not.toContain(acme.token);
    expect(row['token_hint']).toBe(acme.token.slice(-4));
    await expect(transaction(ctx, (tx) => createDirectory(tx, {}, acme.organization))).rejects.toThrow('has a directory already');
    expect(service.log.join('\n')).not.toContain(acme.token);
  });
});

describe('the requests of a directory', () => {
  test('are kept, the last hundred, without their queries and with what was wrong with them (specification 16.6.14)', async () => {
    const kept = await addDirectory(ctx, 'kept.example');
    await kept.send('GET', '/Users?filter=nonsense eq 1', undefined, { 'X-Request-Id': 'kept-1' });
    expect(await listRequests(ctx, kept.directory.id)).toMatchObject([
      {
        method: 'GET',
        path: '/Users',
        response_status: 400,
        error: { scimType: 'invalidFilter', detail: 'There is no attribute nonsense to filter by.' },
        request_id: 'kept-1',
      },
    ]);
    for (let count = 0; count < 105; count += 1) await kept.send('GET', `/Users/${count}`);
    const all = await listRequests(ctx, kept.directory.id);
    expect(all).toHaveLength(100);
    expect(all[0]).toMatchObject({ path: '/Users/104', response_status: 404 });
    expect(all.at(-1)).toMatchObject({ path: '/Users/5' });
    const { last_used_at } = (await ctx.db.knex('directories').where({ id: kept.directory.id }).first()) as { last_used_at: Date };
    expect(last_used_at).not.toBeNull();
  });
});

describe('the limit', () => {
  test('counts each directory by itself, and guesses by address (attack 46.1351)', async () => {
    const limited = await startTestService({ RATE_LIMITS: 'on', RATE_LIMIT_SCIM: '3/60' });
    try {
      const context = await limited.context();
      const one = await addDirectory(context, 'one.example');
      const two = await addDirectory(context, 'two.example');
      const statuses = async (directory: TestDirectory, token: string | null, count: number) => {
        const found: number[] = [];
        for (let at = 0; at < count; at += 1) found.push((await get(directory, token)).status);
        return found;
      };
      expect(await statuses(one, one.token, 4)).toEqual([200, 200, 200, 429]);
      expect(await statuses(two, two.token, 1)).toEqual([200]);
      expect(await statuses(two, 'wrong', 4)).toEqual([401, 401, 401, 429]);
      const refused = await get(one, one.token);
      expect(refused.body).toMatchObject({ schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '429' });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    } finally {
      await limited.stop();
    }
  });
});
