// Who gets a domain, who learns of it, and what becomes of one whose record is gone.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { domainCheckPass } from '../../src/jobs/domain-checks.js';
import { addUserRoles, findRoleByName } from '../../src/db/tables/roles.js';
import { addUser } from '../support/data.js';
import { mailTo } from '../support/mailbox.js';
import { manage, secondEnvironment, startManagedService, type Api, type Document } from '../support/management.js';
import type { TestService } from '../support/service.js';

const day = 86_400_000;
const records = new Map<string, string[]>();
let broken = false;
let service: TestService;
let api: Api;
let other: Api;

beforeAll(async () => {
  const txtLookup = async (name: string) => {
    if (broken) throw new Error('SERVFAIL');
    return records.get(name) ?? [];
  };
  service = await startManagedService({}, { overrides: { txtLookup } });
  api = await manage(service.url);
  other = (await secondEnvironment(api)).api;
});
afterAll(() => service?.stop());

const add = (at: Api, domain: string) => at.attempt('custom_domains', { domain });

/** What the answer says, without what is its own: ids, times, the value of the record. */
function shape({ status, body }: { status: number; body: Document }) {
  const { attributes } = body['data'] as Document;
  return {
    status,
    domain: attributes.domain,
    state: attributes.status,
    is_primary: attributes.is_primary,
    missing_since: attributes.missing_since,
  };
}

/** Puts the record into the zone, beside those of others. */
function publish(domain: Document): void {
  for (const record of domain['attributes'].verification_records as { name: string; value: string }[])
    records.set(record.name, [...(records.get(record.name) ?? []), record.value]);
}

/** The domain as it is now, by a token that the clock hasn't run past. */
async function attributesOf(id: string): Promise<Document> {
  api = await manage(service.url);
  return ((await api.get(`/custom_domains/${id}`)).body['data'] as Document)['attributes'] as Document;
}

async function verified(name: string): Promise<Document> {
  api = await manage(service.url);
  const domain = (await add(api, name)).body['data'] as Document;
  publish(domain);
  expect((await api.patch(`/custom_domains/${domain['id']}/verify`)).body['data'].attributes.status).toBe('verified');
  return domain;
}

test('a pending domain blocks nobody and tells nobody; whoever proves it first has it (attack 22.267)', async () => {
  const first = await add(api, 'login.waiting.example');
  const second = await add(other, 'login.waiting.example');
  const alone = await add(other, 'login.alone.example');
  expect(shape(second)).toEqual(shape(first));
  expect(shape(second)).toEqual({ ...shape(alone), domain: 'login.waiting.example' });
  expect((await add(api, 'login.waiting.example')).status).toBe(409);

  const mine = second.body['data'] as Document;
  publish(mine);
  expect((await other.patch(`/custom_domains/${mine['id']}/verify`)).body['data'].attributes.status).toBe('verified');
  // A verified one doesn't tell either: only the owner of the zone learns who has it, by proving it once more.
  const late = first.body['data'] as Document;
  expect((await api.patch(`/custom_domains/${late['id']}/verify`)).body['data'].attributes.failure_reason).toBe('record_mismatch');
  publish(late);
  const refused = await api.patch(`/custom_domains/${late['id']}/verify`);
  expect([refused.status, refused.body['errors'][0].code]).toEqual([409, 'already_exists']);
  expect((await other.delete(`/custom_domains/${mine['id']}`)).status).toBe(204);
  expect((await api.patch(`/custom_domains/${late['id']}/verify`)).body['data'].attributes.status).toBe('verified');
});

test('a verified domain is looked up daily; a failure of DNS or a week-end without the record takes nothing away (attack 22.267)', async () => {
  const { id } = await verified('login.steady.example');
  await domainCheckPass(service.deps);
  const before = await attributesOf(id);
  service.clock.advance(day + 1000);
  expect(await domainCheckPass(service.deps)).toBeGreaterThan(0);
  expect(await domainCheckPass(service.deps)).toBe(0);
  const after = await attributesOf(id);
  expect(after).toMatchObject({ status: 'verified', missing_since: null, updated_at: before['updated_at'] });
  expect(after['last_checked_at']).not.toBe(before['last_checked_at']);

  broken = true;
  for (let i = 0; i < 10; i++) {
    service.clock.advance(day + 1000);
    await domainCheckPass(service.deps);
  }
  broken = false;
  expect(await attributesOf(id)).toMatchObject({ status: 'verified', failure_reason: 'dns_error', missing_since: null });

  const kept = new Map(records);
  records.clear();
  for (let i = 0; i < 3; i++) {
    service.clock.advance(day + 1000);
    await domainCheckPass(service.deps);
  }
  expect(await attributesOf(id)).toMatchObject({
    status: 'verified',
    failure_reason: 'record_not_found',
    missing_since: expect.any(String),
  });
  for (const [name, values] of kept) records.set(name, values);
  service.clock.advance(day + 1000);
  await domainCheckPass(service.deps);
  expect(await attributesOf(id)).toMatchObject({ status: 'verified', failure_reason: null, missing_since: null });
});

test('custom_domains:write deletes no domain that has failed while tokens of it are taken, for they end with it (attack 22.1091)', async () => {
  const ctx = await service.context();
  const { id } = await verified('login.earlier.example');
  const issuer_until = new Date(service.clock.now().getTime() + day);
  await ctx.db.knex('custom_domains').where({ id }).update({ status: 'failed', issuer_until });
  const refused = await (await manage(service.url, 'custom_domains:write')).delete(`/custom_domains/${id}`);
  expect([refused.status, refused.body['errors']?.[0]?.code]).toEqual([403, 'scope_escalation']);
  service.clock.advance(day + 1000);
  expect((await (await manage(service.url, 'custom_domains:write')).delete(`/custom_domains/${id}`)).status).toBe(204);
});

test('after a week without its record a domain has failed, is primary no more, is logged, recorded and told to administrators', async () => {
  const ctx = await service.context();
  const administrator = await addUser(ctx);
  await addUserRoles(ctx.scope, administrator.id, [(await findRoleByName(ctx.scope, 'administrator'))?.id ?? '']);
  const german = await addUser(ctx, { locale: 'de-AT' });
  await addUserRoles(ctx.scope, german.id, [(await findRoleByName(ctx.scope, 'administrator'))?.id ?? '']);
  const unproven = await addUser(ctx, { email_verified: false });
  await addUserRoles(ctx.scope, unproven.id, [(await findRoleByName(ctx.scope, 'administrator'))?.id ?? '']);
  const { id } = await verified('login.leaving.example');
  const primary = { data: { type: 'custom_domain', id, attributes: { is_primary: true } } };
  expect((await api.patch(`/custom_domains/${id}`, primary)).status).toBe(200);
  records.delete('_identity-verification.login.leaving.example');
  for (let i = 0; i < 8; i++) {
    expect(await attributesOf(id)).toMatchObject({ status: 'verified', is_primary: true });
    service.clock.advance(day + 1000);
    await domainCheckPass(service.deps);
  }
  expect(await attributesOf(id)).toMatchObject({ status: 'failed', is_primary: false, failure_reason: 'record_not_found' });
  const discovery = (await (await fetch(`${service.url}/.well-known/openid-configuration`)).json()) as Document;
  expect(discovery['issuer']).toBe(service.url);
  expect(service.log.some((line) => line.includes('"custom_domain.failed"') && line.includes('login.leaving.example'))).toBe(true);
  const [event] = (await api.get('/security_events?filter[event]=security_setting.changed&page[size]=1')).body['data'] as Document[];
  expect(event?.['attributes']).toMatchObject({
    actor: { actor_kind: 'system' },
    detail: { action: 'custom_domain.failed', settings: ['status'] },
  });
  const [entry] = (await api.get('/audit_logs?filter[action]=custom_domain.failed')).body['data'] as Document[];
  expect(entry?.['attributes']).toMatchObject({
    reason: 'record_not_found',
    changes: { status: ['verified', 'failed'], is_primary: [true, false] },
  });
  // The domain that became the primary one is told by a mail of its own.
  const told = async (email: string) =>
    (await mailTo(service.url, email)).filter(({ subject }) => /no longer in use|record missing/.test(subject));
  const mails = await told(administrator.email);
  expect(mails.map(({ subject }) => subject)).toEqual([
    expect.stringContaining('no longer in use'),
    expect.stringContaining('record missing'),
  ]);
  expect(mails[0]?.text).toContain(`${service.url}/dashboard/custom_domains/${id}`);
  expect(await told(unproven.email)).toEqual([]);
  const { name } = ctx.environment;
  expect((await mailTo(service.url, german.email)).map(({ subject }) => subject)).toEqual([
    `Eine eigene Domain von ${name} ist nicht mehr in Gebrauch`,
    `Der DNS-Eintrag einer eigenen Domain von ${name} fehlt`,
    `Die Adresse von ${name} wurde geändert`,
    `${name} ist unter einer weiteren Domain erreichbar`,
  ]);
});
