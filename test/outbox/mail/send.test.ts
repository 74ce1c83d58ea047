import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { pino } from 'pino';
import { readConfig } from '../../../src/config.js';
import { defaultContext } from '../../../src/domain/configuration/bootstrap.js';
import { transaction, type Context, type Deps } from '../../../src/domain/context.js';
import { queueMail } from '../../../src/domain/mail/mail.js';
import { mailQueueRows, oldestDueMailSeconds, recordMails, type MailRow } from '../../../src/db/tables/mails.js';
import { mailQueue } from '../../../src/outbox/mail/send.js';
import type { MailMessage } from '../../../src/platform/mailer.js';
import { createDeps, prepareDatabase } from '../../../src/process/service.js';
import { Browser } from '../../support/browser.js';
import { mailTo } from '../../support/mailbox.js';
import { freePort, startTestService, type TestService } from '../../support/service.js';
import { startSmtpServer, type TestSmtpServer } from '../../support/smtp.js';
import { drain } from '../../support/outbox-queue.js';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function smtpOn(port: number): Promise<TestSmtpServer> {
  const server = await startSmtpServer(port);
  // Last of all: it waits for its clients to leave.
  cleanups.unshift(() => server.close());
  return server;
}

async function serviceWith(
  environment: Record<string, string>,
  options: Parameters<typeof startTestService>[1] = {},
): Promise<TestService> {
  const service = await startTestService(environment, options);
  cleanups.push(() => service.stop());
  return service;
}

const register = (service: TestService, email: string) => new Browser(service.url).postJson('/register', { email });
type Row = { status: string; sealed: Buffer; attempt_count: number; last_error: string | null };
const rowOf = async (service: TestService, recipient: string) => (await service.deps.db.knex('mails').where({ recipient }).first()) as Row;
const origin = { ip_address: '203.0.113.5', user_agent: null };

describe('with an SMTP server', () => {
  test('a mail arrives at once, with text and HTML of the same words, and is forgotten here', async () => {
    const smtp = await smtpOn(0);
    const service = await serviceWith({ SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, EMAIL_FROM: 'Sign-in <no-reply@id.example>' });
    expect((await register(service, 'Grace@Example.com')).status).toBe(202);
    await expect.poll(() => smtp.received.length).toBe(1);
    const [{ from, to, mail }] = smtp.received as [TestSmtpServer['received'][0]];
    const code = /\b\d{6}\b/.exec(mail.text ?? '')?.[0] ?? 'none';
    expect(mail.subject).not.toContain(code);
    expect([from, to, mail.from?.name]).toEqual(['no-reply@id.example', ['Grace@example.com'], 'Sign-in']);
    expect([mail.text, mail.html]).toEqual([expect.stringContaining(code), expect.stringContaining(code)]);
    expect(mail.messageId).toMatch(/^<[0-9a-f-]{36}@localhost>$/);
    await expect.poll(async () => (await rowOf(service, 'Grace@example.com')).status).toBe('sent');
    expect((await rowOf(service, 'Grace@example.com')).sealed).toHaveLength(0);
    expect(service.log.join()).not.toContain(code);
    expect((await fetch(`${service.url}/dev/mailbox`)).status).toBe(404);
  });

  test('while it is down, registration answers at once; when it is back, the mail arrives (fault F23)', async () => {
    const port = await freePort();
    const service = await serviceWith({ SMTP_URL: `smtp://127.0.0.1:${port}` });
    expect((await register(service, 'late@example.com')).status).toBe(202);
    await expect.poll(async () => (await rowOf(service, 'late@example.com')).last_error).toContain('ECONNREFUSED');
    expect((await new Browser(service.url).get('/login')).status).toBe(200);
    const smtp = await smtpOn(port);
    await expect.poll(() => smtp.received.map(({ to }) => to[0]), { timeout: 20_000 }).toEqual(['late@example.com']);
    await expect.poll(async () => (await rowOf(service, 'late@example.com')).status).toBe('sent');
  });

  test('a mail that is refused for good is given up, one that is refused for now is not', async () => {
    const smtp = await smtpOn(0);
    const service = await serviceWith({ SMTP_URL: `smtp://127.0.0.1:${smtp.port}` });
    smtp.refuse(550);
    await register(service, 'gone@example.com');
    await expect.poll(async () => (await rowOf(service, 'gone@example.com')).status).toBe('failed');
    smtp.refuse(451);
    await register(service, 'busy@example.com');
    await expect.poll(async () => (await rowOf(service, 'busy@example.com')).attempt_count).toBeGreaterThan(0);
    smtp.refuse(0);
    await expect.poll(() => smtp.received.map(({ to }) => to[0]), { timeout: 20_000 }).toEqual(['busy@example.com']);
  });

  test('a code that has expired meanwhile is not sent', async () => {
    const port = await freePort();
    const service = await serviceWith({ SMTP_URL: `smtp://127.0.0.1:${port}` });
    await register(service, 'stale@example.com');
    service.clock.advance(601_000);
    await expect.poll(async () => (await rowOf(service, 'stale@example.com')).status).toBe('failed');
    expect((await rowOf(service, 'stale@example.com')).last_error).toContain('expired');
  });
});

describe('the queue', () => {
  let service: TestService;
  let held: { message: MailMessage; finish: () => void }[] = [];

  beforeAll(async () => {
    // Every send waits until the test lets it go.
    const mailer = {
      send: (message: MailMessage) => new Promise<void>((resolve) => held.push({ message, finish: resolve })),
      close: async () => undefined,
    };
    service = await startTestService({}, { overrides: { mailer } });
  });
  afterAll(async () => {
    for (const { finish } of held) finish();
    await service?.stop();
  });
  afterEach(() => {
    for (const { finish } of held) finish();
    held = [];
  });

  const queue = async (to: string) => {
    const ctx = await service.context();
    await transaction(ctx, (tx) =>
      queueMail(tx, { template: 'password_changed', to, locale: null, model: { reset_url: `${service.url}/password/forgot` }, origin }),
    );
  };
  const sendingTo = () => held.map(({ message }) => message.to).sort();

  test('a mail belongs to the transaction that causes it', async () => {
    const ctx = await service.context();
    const failed = transaction(ctx, async (tx) => {
      await queueMail(tx, { template: 'password_changed', to: 'nobody@example.com', locale: null, model: { reset_url: 'x' }, origin });
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    expect(await ctx.db.knex('mails').where({ recipient: 'nobody@example.com' })).toEqual([]);
  });

  test('a mail that hangs holds no other one up (fault F23)', async () => {
    await queue('one@example.com');
    await expect.poll(sendingTo).toEqual(['one@example.com']);
    await queue('two@example.com');
    await expect.poll(sendingTo).toEqual(['one@example.com', 'two@example.com']);
  });

  test('two replicas send each mail once', async () => {
    const ctx = await service.context();
    const other = await startTestService(
      {},
      { database: { url: service.databaseUrl, secretKey: service.secretKey }, overrides: { mailer: service.deps.net.mailer } },
    );
    try {
      for (let i = 0; i < 8; i++) await queue(`each-${i}@example.com`);
      await expect.poll(() => sendingTo().length).toBe(8);
      expect(new Set(sendingTo()).size).toBe(8);
      for (const { finish } of held) finish();
      await expect
        .poll(async () =>
          ctx.db
            .knex('mails')
            .where({ status: 'sent' })
            .where('recipient', 'like', 'each-%')
            .then((rows) => rows.length),
        )
        .toBe(8);
    } finally {
      await other.stop();
    }
  });
});

describe('a pass', () => {
  let deps: Deps;
  let ctx: Context;
  let sent: string[] = [];
  let failure: Error | null = null;

  const database = sharedDatabase();
  beforeAll(async () => {
    const secretKey = randomBytes(32).toString('base64');
    const mailer = {
      async send({ to }: MailMessage) {
        if (failure) throw failure;
        sent.push(to);
      },
      close: async () => undefined,
    };
    deps = createDeps(
      readConfig({ LOG_LEVEL: 'silent' }),
      pino({ level: 'silent' }),
      { url: database.url, directUrl: database.url, secretKey },
      { mailer },
    );
    await prepareDatabase(deps, database.url);
    ctx = await defaultContext(deps);
  });
  afterAll(async () => deps?.db.knex.destroy());
  afterEach(async () => {
    await deps.db.knex('mails').delete();
    [sent, failure] = [[], null];
  });

  const queue = (to: string, more: { discarded?: boolean } = {}) =>
    transaction(ctx, (tx) =>
      queueMail(tx, {
        template: 'password_changed',
        to,
        locale: null,
        model: { reset_url: 'https://id.example/password/forgot' },
        origin,
        ...more,
      }),
    );
  const row = async () => (await deps.db.knex('mails').first()) as MailRow;
  const lease_id = '01990000-0000-4000-8000-000000000001';
  const claim = async (leaseMs: number) => {
    const { due } = await mailQueueRows.findDue(deps.db.knex, 10);
    return mailQueueRows.claim(deps.db.knex, due.map((one) => ({ ...one, limit: 5 })), { lease_id, leaseMs }); // prettier-ignore
  };

  test('a claim that has lapsed is taken over, and what its first holder says then counts no more', async () => {
    await queue('lapsed@example.com');
    const claimed = (await claim(0))[0] as MailRow;
    expect(claimed.recipient).toBe('lapsed@example.com');
    expect(await drain(mailQueue(deps))).toBe(1);
    const late = { status: 'failed', last_error: 'late', sent_at: null, forget: false, retry_in_ms: null } as const;
    const { environment_id, id } = claimed;
    expect(await recordMails(deps.db.knex, [{ environment_id, id, lease_id, ...late }])).toEqual([]);
    expect([sent, (await row()).status]).toEqual([['lapsed@example.com'], 'sent']);
  });

  test('a claimed mail is nobody else\u2019s until then', async () => {
    await queue('held@example.com');
    expect(await claim(60_000)).toHaveLength(1);
    expect(await drain(mailQueue(deps))).toBe(0);
  });

  test('a mail that is given back is due as before, and no attempt was spent', async () => {
    await queue('returned@example.com');
    const before = await row();
    const claimed = (await claim(60_000))[0] as MailRow & { due_at: Date };
    expect((await row()).next_attempt_at).not.toEqual(before.next_attempt_at);
    await mailQueueRows.release(deps.db.knex, [{ ...claimed, lease_id }]);
    expect(await row()).toMatchObject({ attempt_count: 0, lease_id: null, leased_until: null });
    expect(await drain(mailQueue(deps))).toBe(1);
  });

  test('both looks see each environment that has something due, and neither what is claimed', async () => {
    await queue('seen@example.com');
    await queue('seen-too@example.com');
    const seen = [expect.objectContaining({ environment_id: ctx.environment.id, id: ctx.environment.id })];
    expect(await mailQueueRows.findDue(deps.db.knex, 2)).toEqual({ due: seen, full: true });
    expect(await mailQueueRows.findAllDue(deps.db.knex, 10)).toEqual(seen);
    await claim(60_000);
    expect([await mailQueueRows.findDue(deps.db.knex, 2), await mailQueueRows.findAllDue(deps.db.knex, 10)]).toEqual([
      { due: [], full: false },
      [],
    ]);
    expect(await mailQueueRows.millisecondsToNextDue(deps.db.knex)).toBeGreaterThan(50_000);
  });

  test('a failed attempt waits longer each time, five minutes at most', async () => {
    await queue('down@example.com');
    failure = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 12; attempt++) {
      await deps.db.knex('mails').update({ next_attempt_at: deps.db.knex.raw('now()') });
      expect(await drain(mailQueue(deps))).toBe(1);
      const due = await deps.db
        .knex('mails')
        .select(deps.db.knex.raw('extract(epoch from next_attempt_at - now())::float8 as wait'))
        .first();
      waits.push((due as unknown as { wait: number }).wait);
    }
    expect(waits[0]).toBeLessThan(1.3);
    expect(waits[4]).toBeGreaterThan(12);
    expect(Math.max(...waits)).toBeLessThan(361);
    expect(await row()).toMatchObject({ status: 'pending', attempt_count: 12, last_error: 'connect ECONNREFUSED' });
  });

  test('a mail to nobody is settled like any other, and sent to nobody', async () => {
    await queue('unknown@example.com', { discarded: true });
    expect(await drain(mailQueue(deps))).toBe(1);
    expect([sent, await row()]).toMatchObject([[], { status: 'sent', attempt_count: 1 }]);
  });

  test('a mail sealed under a lost key is kept and tried again, not sent empty', async () => {
    await queue('sealed@example.com');
    await deps.db.knex('mails').update({ sealed: randomBytes(64) });
    expect(await drain(mailQueue(deps))).toBe(1);
    expect([sent, await row()]).toMatchObject([[], { status: 'pending', last_error: expect.stringContaining('SECRET_KEY') }]);
    // It waits for its next attempt, and is as old as it is: what the alert on the outbox goes by.
    await deps.db.knex('mails').update({ created_at: deps.db.knex.raw("now() - interval '10 minutes'") });
    expect(await oldestDueMailSeconds(deps.db.knex)).toBeGreaterThanOrEqual(600);
  });
});

describe('the development mailbox', () => {
  test('shows what would have been sent, newest first, of one recipient if told, as JSON and as a page', async () => {
    const service = await serviceWith({});
    for (const email of ['one@example.com', 'two@example.com', 'ONE@example.com']) await register(service, email);
    const all = (await (await fetch(`${service.url}/dev/mailbox`)).json()) as { messages: { to: string }[] };
    expect(all.messages.map((message) => message.to)).toEqual(['ONE@example.com', 'two@example.com', 'one@example.com']);
    const [message] = await mailTo(service.url, 'one@example.com');
    expect(Object.keys(message ?? {})).toEqual(['id', 'to', 'subject', 'text', 'html', 'created_at']);
    expect(message?.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(await mailTo(service.url, 'one@example.com')).toHaveLength(2);
    expect(await mailTo(service.url, 'nobody@example.com')).toEqual([]);
    const page = await fetch(`${service.url}/dev/mailbox?to=two@example.com`, { headers: { accept: 'text/html' } });
    const html = await page.text();
    expect([page.status, html]).toEqual([200, expect.stringContaining('two@example.com')]);
    expect(html).not.toContain('one@example.com');
    await expect.poll(() => service.log.filter((line) => line.includes('mail.captured')).length).toBe(3);
  });

  test('is not there in an environment of another kind', async () => {
    const service = await serviceWith({});
    await service.deps.db.knex('environments').update({ kind: 'production' });
    await expect.poll(async () => (await fetch(`${service.url}/dev/mailbox`)).status).toBe(404);
  });
});
