// Clients that don't prove who they are: one entry for each address, client and minute, and nothing of what strangers claim.
import { beforeAll, describe, expect, test } from 'vitest';
import { observeStatements } from '../support/statements.js';
import { addClient } from '../support/data.js';
import { auditRows, eventLines, marks, origin } from '../support/security-events.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService(() => startTestService({ RATE_LIMITS: 'off' }));
const ctx = contextOf(service);
const client = shared(() => addClient(ctx));

beforeAll(async () => {
  // At the beginning of a minute, so that none ends in between.
  service.clock.advance(60_000 - (service.clock.now().getTime() % 60_000));
});

const basic = (id: string, secret: string) => ({ authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` });
const asked = (path: string, headers: Record<string, string>, body: Record<string, string> = { grant_type: 'client_credentials' }) =>
  fetch(`${service.url}${path}`, { method: 'POST', headers: { ...marks, ...headers }, body: new URLSearchParams(body) });

describe('client.authentication_failed', () => {
  test('a wrong secret names the client, at every endpoint that clients prove themselves at', async () => {
    for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke']) {
      expect((await asked(path, basic(client.id, 'wrong'), { grant_type: 'client_credentials', token: 'x' })).status).toBe(401);
    }
    expect(await auditRows(service, 'client.authentication_failed')).toMatchObject([
      {
        target_type: 'client',
        target_id: client.id,
        reason: 'not_proven',
        outcome: 'failure',
        actor_kind: 'anonymous',
        count: 3,
        ...origin,
      },
    ]);
    expect(eventLines(service, 'client.authentication_failed')).toHaveLength(3);
  });

  test('a client that proves itself leaves none', async () => {
    const before = eventLines(service, 'client.authentication_failed').length;
    await asked('/oauth/introspect', basic(client.id, client.client_secret), { token: 'x' });
    expect(eventLines(service, 'client.authentication_failed')).toHaveLength(before);
  });

  test('a flood of made-up clients is one row with a count, and no word of what they claimed (attack 35.720)', async () => {
    for (let number = 0; number < 150; number++) {
      expect((await asked('/oauth/token', basic(`invented-${number}`, 'x'))).status).toBe(401);
    }
    const rows = (await auditRows(service, 'client.authentication_failed')).filter(({ reason }) => reason === 'unknown_client');
    expect(rows).toMatchObject([{ target_id: null, count: 150 }]);
    expect(service.log.join('\n')).not.toContain('invented-');
    expect(JSON.stringify(await ctx.db.knex('audit_logs'))).not.toContain('invented-');
    expect((await asked('/oauth/token', {})).status).toBe(401);
    expect((await auditRows(service, 'client.authentication_failed')).map(({ reason }) => reason)).toContain('no_credentials');
  });

  test('a refusal costs no statement beyond the look-up of the client', async () => {
    await asked('/oauth/token', basic(client.id, 'wrong'));
    const seen: string[] = [];
    const stop = observeStatements((text) => void seen.push(text));
    try {
      await asked('/oauth/token', basic(client.id, 'wrong'));
    } finally {
      stop();
    }
    expect(seen.filter((text) => text.includes('audit_logs'))).toEqual([]);
  });
});
