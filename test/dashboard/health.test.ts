import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { attentionKinds, listAttention } from '../../src/domain/health/attention.js';
import { createLogStream } from '../../src/domain/log-streams/log-streams.js';
import { updateWebhook } from '../../src/domain/webhooks/webhooks.js';
import { findWebhook } from '../../src/db/tables/webhooks.js';
import { signedInWith } from '../support/administrators.js';
import { checkDomain, noteDomainCheck } from '../../src/domain/configuration/custom-domains.js';
import { verificationRecords } from '../../src/domain/environments/domain-record.js';
import { lockCustomDomain } from '../../src/db/tables/custom_domains.js';
import { createCertificateReader, type CertificateReader } from '../../src/platform/server-certificate.js';
import { insert } from '../../src/db/scope.js';
import { uuidv7 } from '../../src/lib/random.js';
import { addEnvironment } from '../support/data.js';
import { addConnection } from '../support/connections.js';
import { startReceiver, type Receiver, type Reply } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { addWebhook, emitRoles, eventually, quick, settledDeliveries } from '../support/webhooks.js';

// Two attempts within a second, and the third one half a minute later: a delivery that is being retried.
const service = sharedService(() => startTestService({ ...quick, WEBHOOK_RETRY_BASE_MS: '300', WEBHOOK_RETRY_FACTOR: '100' }));
const receivers: Receiver[] = [];

const ctx = contextOf(service);

afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
});

/** A webhook whose receiver answers so, after an event was tried `attempts` times. */
async function tried(name: string, reply: Reply, attempts: number): Promise<{ id: string; receiver: Receiver }> {
  const receiver = await startReceiver(reply);
  receivers.push(receiver);
  const { webhook } = await addWebhook(ctx, receiver.url, { name, events: ['role.created'] });
  await emitRoles(ctx);
  await receiver.received(attempts);
  await eventually(async () => ((await findWebhook(ctx.scope, webhook.id))?.last_delivery_at ? true : null));
  return { id: webhook.id, receiver };
}

const pageOf = async (path: string, ...permissions: string[]) => (await (await signedInWith(service, ...permissions)).get(path)).text();

describe('a webhook whose last attempts failed', () => {
  let id: string;
  let receiver: Receiver;

  beforeAll(async () => {
    ({ id, receiver } = await tried('Billing', 503, 2));
    await eventually(async () => (await findWebhook(ctx.scope, id))?.failed_attempt_count === 2);
  });

  test('is red in the list, on its page and on the overview, with attempts, last answer and since when (specification 9.3.3)', async () => {
    const list = await pageOf('/dashboard/webhooks', 'webhooks:read');
    expect(list).toMatch(
      /Billing[\s\S]*data-tone="bad"[\s\S]*Failing[\s\S]*The last 2 attempts have failed[\s\S]*The receiver answered 503/,
    );
    const page = await pageOf(`/dashboard/webhooks/${id}`, 'webhooks:read');
    expect(page).toMatch(/data-tone="bad"[\s\S]*The last 2 attempts have failed since [^<]+ UTC\. The receiver answered 503\./);
    const overview = await pageOf('/dashboard', 'webhooks:read');
    expect(overview).toMatch(/Needs attention[\s\S]*Billing[\s\S]*Failing[\s\S]*2 attempts failed in a row[\s\S]*1 delivery being retried/);
    expect(overview).toMatch(/data-label="Cause"[^>]*>[\s\S]{0,80}The receiver answered 503/);
    expect(overview).toMatch(new RegExp(`data-label="Fix"[^>]*>[\\s\\S]{0,80}/dashboard/webhooks/${id}/deliveries`));
    expect(overview).toMatch(/Webhook deliveries that arrived[\s\S]{0,100}0 %[\s\S]{0,100}1 being retried/);
    expect(overview).not.toMatch(/Everything|100 %/);
  });

  test('has retries that are due, and wait for their turn, counted too', async () => {
    const undone = new Error('undone');
    const due = transaction(ctx, async (tx) => {
      await tx.scope
        .knex('webhook_deliveries')
        .where({ webhook_id: id, status: 'retrying' })
        .update({ next_attempt_at: new Date(0) });
      expect(await listAttention(tx, ['webhooks'])).toMatchObject([{ id, retrying: 1 }]);
      throw undone;
    });
    await expect(due).rejects.toBe(undone);
  });

  test('is nothing to whoever may not read webhooks, nor to another environment', async () => {
    expect(await pageOf('/dashboard', 'users:read')).not.toContain('Billing');
    const other = await addEnvironment(service.deps, 'elsewhere');
    expect(await listAttention(other, attentionKinds)).toEqual([]);
  });

  test('of which the next one succeeds is sound again, and still incomplete while something is retried', async () => {
    receiver.reply(200);
    await emitRoles(ctx);
    await eventually(async () => (await findWebhook(ctx.scope, id))?.failed_attempt_count === 0);
    expect(await findWebhook(ctx.scope, id)).toMatchObject({ failing_since: null, last_response_status: 200, last_failure_reason: null });
    expect(await listAttention(ctx, ['webhooks'])).toMatchObject([{ id, health: null, retrying: 1, lost: 0 }]);
    const overview = await pageOf('/dashboard', 'webhooks:read');
    expect(overview).toMatch(/Needs attention[\s\S]*Billing[\s\S]*Incomplete[\s\S]*1 delivery being retried/);
    const before = await findWebhook(ctx.scope, id);
    await transaction(ctx, (tx) => updateWebhook(tx, before!, { status: 'disabled' }));
    expect(await listAttention(ctx, ['webhooks'])).toEqual([]);
  });
});

test('a webhook that the service disabled needs somebody until it is enabled again, by whoever may', async () => {
  const { id } = await tried('Gone', 410, 1);
  await settledDeliveries(ctx, id);
  const writer = await pageOf('/dashboard', 'webhooks:read', 'webhooks:write');
  expect(writer).toMatch(/Gone[\s\S]*Stopped[\s\S]*1 event did not arrive[\s\S]*The receiver answered 410 Gone[\s\S]*Enable again/);
  expect(await pageOf('/dashboard', 'webhooks:read')).not.toContain('Enable again');
  const before = await findWebhook(ctx.scope, id);
  await transaction(ctx, (tx) => updateWebhook(tx, before!, { status: 'enabled' }));
  // What it has missed still did not arrive.
  expect(await listAttention(ctx, ['webhooks'])).toMatchObject([{ id, health: null, lost: 1 }]);
});

test('a log stream that fails is red everywhere, with its tries and the last answer', async () => {
  const { stream } = await transaction(ctx, (tx) =>
    createLogStream(tx, { name: 'SIEM', url: 'http://127.0.0.1:9/in', format: 'native', sources: ['audit_logs'] }),
  );
  await ctx.db
    .knex('log_streams')
    .where({ id: stream.id })
    .update({ failing_since: '2026-01-02T03:04Z', attempt_count: 7, last_error: 'tls' });
  expect(await pageOf('/dashboard/log_streams', 'log_streams:read')).toMatch(
    /SIEM[\s\S]*Failing[\s\S]*The last 7 attempts have failed[\s\S]*TLS handshake/,
  );
  expect(await pageOf(`/dashboard/log_streams/${stream.id}`, 'log_streams:read')).toContain(
    'The last 7 attempts have failed since 2 January 2026 at 03:04 UTC. The certificate or the TLS handshake failed.',
  );
  const overview = await pageOf('/dashboard', 'log_streams:read');
  expect(overview).toMatch(/Needs attention[\s\S]*SIEM[\s\S]*Failing[\s\S]*TLS handshake/);
});

test('a connection at which every sign-in fails is red everywhere, until one succeeds', async () => {
  const { id } = await addConnection(ctx, { issuer: 'http://127.0.0.1:9', display_name: 'Acme ID' });
  const count = (name: string, times: number) => {
    const row = { environment_id: ctx.environment.id, day: ctx.clock.now().toISOString().slice(0, 10), name, label: id, count: times };
    return ctx.db.knex('daily_stats').insert(row).onConflict(['environment_id', 'day', 'name', 'label']).merge();
  };
  await count('sso_failed', 2);
  expect(await listAttention(ctx, ['connections'])).toEqual([]);
  await count('sso_failed', 3);
  for (const path of ['/dashboard/connections', `/dashboard/connections/${id}`, '/dashboard'])
    expect(await pageOf(path, 'connections:read')).toMatch(/Acme ID[\s\S]*data-tone="bad"[\s\S]*Failing/);
  expect(await pageOf('/dashboard', 'connections:read')).toContain('3 sign-ins failed, none succeeded');
  await count('sso_succeeded', 1);
  expect(await pageOf(`/dashboard/connections/${id}`, 'connections:read')).not.toContain('Failing');
});

test('a signing key that nothing changes over is overdue, with the way to the next one', async () => {
  const { kid } = (await ctx.db.knex('signing_keys').where({ environment_id: ctx.environment.id, status: 'primary' }).first('kid')) as {
    kid: string;
  };
  const signsFor = (days: number) =>
    ctx.db
      .knex('signing_keys')
      .where({ kid })
      .update({ activated_at: new Date(ctx.clock.now().getTime() - days * 86_400_000) });
  const next = await ctx.db.knex('signing_keys').where({ status: 'next' }).delete().returning('*');
  await signsFor(95);
  for (const path of ['/dashboard/signing_keys', `/dashboard/signing_keys/${kid}`, '/dashboard'])
    expect(await pageOf(path, 'signing_keys:read')).toMatch(/Overdue[\s\S]*there is no next one/);
  const overview = await pageOf('/dashboard', 'signing_keys:read', 'signing_keys:write');
  expect(overview).toMatch(/href="\/dashboard\/signing_keys\/new"[^>]*>Generate next key/);
  await signsFor(89);
  expect(await listAttention(ctx, ['signing_keys'])).toEqual([]);
  if (next.length > 0)
    await ctx.db
      .knex('signing_keys')
      .insert(next.map((row: object) => ({ ...row, public_jwk: JSON.stringify((row as { public_jwk: unknown }).public_jwk) })));
});

describe('mail', () => {
  const sendsBy = (smtpUrl: string | null) => ({ ...ctx, config: { ...ctx.config, smtpUrl } });
  const mail = (more: object) => {
    const at = new Date(ctx.clock.now().getTime() - 60_000);
    const row = {
      environment_id: ctx.environment.id,
      id: uuidv7(at.getTime()),
      recipient: 'lena@example.com',
      sealed: Buffer.alloc(0),
      created_at: at,
    };
    return ctx.db.knex('mails').insert({ ...row, ...more });
  };
  const later = new Date(Date.now() + 3_600_000);

  test('that waits fails while nothing has left since, without a word of whose it is', async () => {
    expect(await listAttention(sendsBy('smtp://127.0.0.1'), ['mail'])).toEqual([]);
    await mail({ attempt_count: 4, next_attempt_at: later, last_error: '451 4.7.1 <lena@example.com>: greylisted' });
    const [found] = await listAttention(sendsBy('smtp://127.0.0.1'), ['mail']);
    expect(found).toMatchObject({ retrying: 1, health: { trouble: 'failing', attempts: 4, response_status: 451 } });
    expect(JSON.stringify(found)).not.toContain('lena');
    await mail({ status: 'sent', sent_at: ctx.clock.now() });
    expect(await listAttention(sendsBy('smtp://127.0.0.1'), ['mail'])).toMatchObject([{ retrying: 1, health: null }]);
    await ctx.db.knex('mails').delete();
  });

  test('that was given up once is one address; three times, and nothing arrived, is the server', async () => {
    for (const expected of [0, 0, 1]) {
      await mail({ status: 'failed', attempt_count: 1, last_error: 'connect ECONNREFUSED 10.0.0.1:25' });
      expect(await listAttention(sendsBy('smtp://127.0.0.1'), ['mail'])).toHaveLength(expected);
    }
    expect((await listAttention(sendsBy('smtp://127.0.0.1'), ['mail']))[0]?.health).toMatchObject({
      response_status: null,
      error: 'mail_server',
    });
    await ctx.db.knex('mails').delete();
  });

  test('without a server is missing in production alone', async () => {
    const production = { ...sendsBy(null), environment: { ...ctx.environment, kind: 'production' as const } };
    expect(await listAttention(production, ['mail'])).toMatchObject([{ health: { trouble: 'missing', error: 'no_mail_server' } }]);
    expect(await listAttention(sendsBy(null), ['mail'])).toEqual([]);
  });
});

describe('a custom domain', () => {
  const domain = 'login.example.com';
  let id: string;

  beforeAll(async () => {
    const at = ctx.clock.now();
    id = uuidv7(at.getTime());
    const times = { verified_at: at, last_checked_at: at, created_at: at, updated_at: at };
    await insert(ctx.scope, 'custom_domains', { id, domain, status: 'verified', verification_token: 'token', ...times });
  });

  /** The daily check of a service at an https address, which sees such a certificate. */
  async function checked(certificate: CertificateReader, baseUrl = 'https://id.example.com'): Promise<void> {
    const row = await lockCustomDomain(ctx.scope, id);
    const txtLookup = async () => [verificationRecords(row!)[0]?.value ?? ''];
    const check = await checkDomain({ ...ctx, config: { ...ctx.config, baseUrl }, net: { ...ctx.net, txtLookup, certificate } }, row!);
    await transaction(ctx, (tx) => noteDomainCheck(tx, row!, check));
  }
  const shows =
    (days: number, problem: 'name' | 'chain' | null = null): CertificateReader =>
    async () => ({ problem, code: null, valid_to: new Date(ctx.clock.now().getTime() + days * 86_400_000 + 1000) });
  const health = async () => (await listAttention(ctx, ['custom_domains']))[0]?.health ?? null;

  test('whose certificate is refused, or ends soon, says so everywhere', async () => {
    await checked(shows(60));
    expect(await health()).toBeNull();
    await checked(shows(13));
    expect(await health()).toMatchObject({ trouble: 'overdue', error: 'certificate_expiring' });
    await checked(shows(60, 'name'));
    expect(await health()).toMatchObject({ trouble: 'failing', error: 'certificate_name' });
    await checked(() => Promise.reject(new Error('ECONNREFUSED')));
    expect(await health()).toMatchObject({ trouble: 'failing', error: 'certificate_away' });
    await checked(shows(-1));
    for (const path of ['/dashboard/custom_domains', `/dashboard/custom_domains/${id}`, '/dashboard'])
      expect(await pageOf(path, 'custom_domains:read')).toMatch(/login\.example\.com[\s\S]*Failing[\s\S]*Its certificate has expired/);
  });

  test('that leads inside is not connected to, and its check says nothing of what is there (attack 22.1146)', async () => {
    await checked(shows(60));
    const reader = createCertificateReader(async () => ['10.0.0.1'], { allowPrivateNetwork: false });
    await expect(reader(domain)).rejects.toMatchObject({ reason: 'blocked_address' });
    await checked(reader);
    expect(await health()).toBeNull();
  });

  test('is not asked for a certificate by a service on http', async () => {
    await checked(() => Promise.reject(new Error('asked')), 'http://localhost:3000');
    expect(await health()).toBeNull();
  });

  test('whose DNS record is gone is missing it, everywhere', async () => {
    await ctx.db.knex('custom_domains').where({ id }).update({ missing_since: ctx.clock.now() });
    for (const path of ['/dashboard/custom_domains', `/dashboard/custom_domains/${id}`, '/dashboard'])
      expect(await pageOf(path, 'custom_domains:read')).toMatch(
        /login\.example\.com[\s\S]*Missing[\s\S]*The DNS record that proves the domain is gone/,
      );
  });
});
