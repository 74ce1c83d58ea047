// A full disk (fault F11), as the service meets it: PostgreSQL refuses to write with its error for it, which triggers raise here. Only root may have a disk that
// is really full, and `test/faults/run.ts F11` fills one.
import { expect, test } from 'vitest';
import { addClient, addGrant, addResource } from '../support/data.js';
import { oauthPost, tokenRequest } from '../support/oauth.js';
import { eventually } from '../support/webhooks.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);

/** Leaves no room in the tables: whatever would write ends as it does where no page can be added. @returns what makes room again */
async function fill(tables: readonly string[]): Promise<() => Promise<void>> {
  await ctx.db.knex.raw(`create function no_room() returns trigger language plpgsql as $$
    begin
      raise 'could not extend file "base/1/%": No space left on device', tg_relid using errcode = 'disk_full', hint = 'Check free disk space.';
    end $$`);
  for (const table of tables) {
    await ctx.db.knex.raw(`create trigger no_room before insert or update on ${table} for each row execute function no_room()`);
  }
  return async () => void (await ctx.db.knex.raw('drop function no_room cascade'));
}

test('the disk is full: writes are 503, reads and what needs no write go on, and with room again all is well without repair (fault F11)', async () => {
  const client = await addClient(ctx, { grant_types: ['client_credentials'], application_type: 'machine' });
  for (const token_format of ['jwt', 'opaque'] as const) {
    const resource = await addResource(ctx, { identifier: `https://${token_format}.example`, token_format });
    await addGrant(ctx, client, resource);
  }
  const token = (format: string) =>
    tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: `https://${format}.example` });
  const register = () => fetch(`${service.url}/register`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ email: 'ada@example.com' }) }); // prettier-ignore
  const jwt = (await token('jwt')).body.access_token;

  const makeRoom = await fill(['access_tokens', 'passcodes', 'mails']);
  await eventually(async () => (await token('jwt')).status === 200);
  for (let i = 0; i < 5; i++) {
    const refused = await token('opaque');
    expect([refused.status, refused.body.error]).toEqual([503, 'temporarily_unavailable']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await register()).status).toBe(503);
    expect((await token('jwt')).status).toBe(200);
    expect((await oauthPost(service.url, '/oauth/introspect', client, { token: jwt })).body).toMatchObject({ active: true });
    for (const path of ['/.well-known/jwks.json', '/.well-known/openid-configuration', '/readyz', '/healthz'])
      expect([path, (await fetch(service.url + path)).status]).toEqual([path, 200]);
  }
  expect(service.log.some((line) => line.includes('53100'))).toBe(true);

  await makeRoom();
  const opaque = await eventually(async () => {
    const answer = await token('opaque');
    return answer.status === 200 && answer.body.access_token;
  });
  expect((await oauthPost(service.url, '/oauth/introspect', client, { token: opaque })).body).toMatchObject({ active: true });
  await eventually(async () => (await register()).ok);
}, 60_000);
