// Authenticators over the Management API: what is shown, what is moved in, what is refused, and that a narrow permission takes nobody over.
import { Secret, TOTP } from 'otpauth';
import { beforeAll, describe, expect, test } from 'vitest';
import { bootstrap } from '../../src/domain/configuration/bootstrap.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { judgeSecondStep, type SecondStepAnswer } from '../../src/domain/sign-ins/second-step.js';
import { makeRecoveryCodes, startTotp } from '../../src/domain/authenticators/enrolment.js';
import { noOrigin } from '../../src/domain/origin.js';
import { proofNow } from '../../src/domain/proofs/proofs.js';
import { startSignIn } from '../../src/domain/sessions/half-sign-ins.js';
import { rememberBrowser } from '../../src/domain/sessions/remembered-browsers.js';
import { findUser } from '../../src/db/tables/users.js';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { lastMailTo, mailTo } from '../support/mailbox.js';
import { link, links, manage, type Api, type ApiAnswer, type Document } from '../support/management.js';
import { sampleCoseKey } from '../support/reach/interesting.js';
import { spent } from '../support/single-use.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedManagedService();
const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
let rp_id: string;
let count = 0;

const ctx = contextOf(service);
const api = shared(() => manage(service.url));

beforeAll(async () => {
  rp_id = new URL(ctx.environment.issuer).hostname;
});

const owner = async (more: Document = {}, relationships?: Document): Promise<string> =>
  (await api.create('users', { email: `owner${count++}@example.com`, password: 'correct horse battery staple', ...more }, relationships))['id']; // prettier-ignore
const document = (user_id: string, attributes: Document) => ({
  data: { type: 'authenticator', attributes, relationships: { user: link('user', user_id) } },
});
const move = (user_id: string, attributes: Document, caller = api) => caller.post('/authenticators', document(user_id, attributes));
const passkey = (more: Document = {}): Document => ({
  kind: 'passkey', credential_id: Buffer.from(`credential ${count++}`).toString('base64url'), public_key: sampleCoseKey, rp_id, backup_eligible: true, ...more,
}); // prettier-ignore
const moved = async (user_id: string, attributes: Document = { kind: 'totp', secret }): Promise<Document> => {
  const answer = await move(user_id, attributes);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body['data'] as Document;
};
const shown = async (user_id: string) => (await api.get(`/users/${user_id}`)).body['data'].attributes as Document;
const refusals = ({ status, body }: ApiAnswer) => [
  status,
  ...((body['errors'] ?? []) as Document[]).map((one) => `${one['code']} ${one['meta']?.field ?? one['source']?.pointer}`),
];
const rename = (id: string, name: unknown, caller = api) => caller.update('authenticators', id, { name });

type AuditRow = { action: string; target_id: string; actor_kind: string; actor_id: string; ip_address: string; changes: unknown };
const auditRows = (): Promise<AuditRow[]> => ctx.db.knex('audit_logs').select<AuditRow[]>('*');

/** A code of an authenticator app at the service's time. */
const codeOf = (more: { algorithm?: string; digits?: number; period?: number } = {}) =>
  new TOTP({ secret: Secret.fromBase32(secret), ...more }).generate({ timestamp: ctx.clock.now().getTime() });

async function prove(user_id: string, answer: SecondStepAnswer): Promise<string> {
  const user = await findUser(ctx.scope, user_id);
  if (!user) throw new Error('the user is missing');
  const { sign_in } = await startSignIn(ctx, { user_id, stage: 'verify', proofs: [proofNow('password', ctx.clock.now())] });
  const browser = { session: null, device: null, secret: 'b', host: undefined, origin: noOrigin };
  return (await spent(ctx, judgeSecondStep(ctx, { user, answer, current: sign_in, browser }))).outcome;
}

describe('moving in', () => {
  test('a TOTP with the parameters of the other system signs in with its next code; its secret is never shown', async () => {
    const id = await owner();
    const { attributes } = await moved(id, { kind: 'totp', secret, algorithm: 'SHA256', digits: 8, period: 60, name: 'Old phone' });
    expect(attributes).toMatchObject({
      kind: 'totp',
      name: 'Old phone',
      status: 'active',
      codes_left: null,
      rp_id: null,
      last_used_at: null,
    });
    expect(Object.keys(attributes)).toEqual([
      'kind', 'name', 'status', 'rp_id', 'aaguid', 'transports', 'backup_eligible', 'backed_up', 'codes_left', 'last_used_at', 'expires_at', 'created_at',
      'updated_at',
    ]); // prettier-ignore
    expect(await shown(id)).toMatchObject({ two_step_enabled: true, authenticator_kinds: ['totp'], recovery_codes_left: 0 });
    expect(await prove(id, { method: 'totp', code: '00000000' })).toBe('wrong');
    expect(await prove(id, { method: 'totp', code: codeOf({ algorithm: 'SHA256', digits: 8, period: 60 }) })).toBe('proven');
    const [used] = (await api.get(`/authenticators?filter[user]=${id}`)).body['data'] as Document[];
    expect(used?.['attributes'].last_used_at).not.toBeNull();
  });

  test('a TOTP takes the defaults of the Key Uri Format, and a name', async () => {
    const id = await owner();
    expect((await moved(id)).attributes.name).toBe('Authenticator app');
    expect(await prove(id, { method: 'totp', code: codeOf() })).toBe('proven');
  });

  test('whoever was moved in signs in with password and app, as before', async () => {
    const user = await addUser(ctx);
    await moved(user.id, { kind: 'totp', secret, algorithm: 'SHA512', digits: 8, period: 45 });
    const browser = new Browser(service.url);
    const first = await browser.postJson('/login', { email: user.email, password });
    expect(await first.json()).toMatchObject({ user: null, second_factor: { methods: ['totp'] } });
    expect((await browser.postJson('/login/verify', { method: 'totp', code: '00000000' })).status).toBe(422);
    const code = codeOf({ algorithm: 'SHA512', digits: 8, period: 45 });
    const second = await browser.postJson('/login/verify', { method: 'totp', code });
    expect([second.status, ((await second.json()) as Document)['user']]).toMatchObject([200, { email: user.email }]);
    const [session] = (await api.get(`/sessions?filter[user]=${user.id}`)).body['data'] as Document[];
    expect(session?.['attributes']).toMatchObject({ acr: '2', amr: ['pwd', 'otp', 'mfa'] });
  });

  test('a passkey keeps what the other system knew of it', async () => {
    const id = await owner();
    const { attributes } = await moved(id, passkey({ sign_count: 7, transports: ['usb', 'hybrid'], name: 'Key' }));
    expect(attributes).toMatchObject({
      kind: 'passkey',
      rp_id,
      transports: ['usb', 'hybrid'],
      backup_eligible: true,
      backed_up: true,
      aaguid: null,
    });
    // Beside a password it only offers two-step.
    expect(await shown(id)).toMatchObject({ two_step_enabled: false, authenticator_kinds: ['passkey'] });
  });

  test('all that is wrong is told at once', async () => {
    const id = await owner();
    expect(refusals(await move(id, { kind: 'totp' }))).toEqual([422, 'required secret']);
    expect(refusals(await move(id, { kind: 'passkey' }))).toEqual([
      422, 'required credential_id', 'required public_key', 'required rp_id', 'required backup_eligible',
    ]); // prettier-ignore
    expect(refusals(await move(id, { kind: 'totp', secret: 'no base32!', digits: 7, period: 5, sign_count: 1 }))).toEqual([
      422, 'invalid_value /data/attributes/digits', 'too_short /data/attributes/period', 'unknown_attribute /data/attributes/sign_count', 'invalid_value /data/attributes/secret',
    ]); // prettier-ignore
    expect(refusals(await move(id, passkey({ rp_id: 'example.com', public_key: 'AAAA', secret })))).toEqual([
      422, 'unknown_attribute /data/attributes/secret', 'invalid_value /data/attributes/rp_id', 'invalid_value /data/attributes/public_key',
    ]); // prettier-ignore
    expect(refusals(await move(id, { kind: 'recovery_codes' }))).toEqual([422, 'invalid_value /data/attributes/kind']);
    expect(refusals(await move(id, { kind: 'totp', secret, algorithm: 'MD5' }))).toEqual([422, 'invalid_value /data/attributes/algorithm']);
    expect(refusals(await move(id, { kind: 'totp', secret, name: ' ' }))).toEqual([422, 'too_short /data/attributes/name']);
    expect(refusals(await api.attempt('authenticators', { kind: 'totp', secret }))).toEqual([422, 'required user']);
    expect(refusals(await move('018f0000-0000-7000-8000-000000000000', { kind: 'totp', secret }))).toEqual([
      404,
      'related_not_found /data/relationships/user/data',
    ]);
  });

  test('a credential has one owner, and a person five authenticator apps', async () => {
    const [one, other] = [await owner(), await owner()];
    const attributes = passkey();
    await moved(one, attributes);
    expect(refusals(await move(other, attributes))).toEqual([409, 'already_exists /data/attributes/credential_id']);
    for (let made = 0; made < 5; made++) await moved(one);
    expect(refusals(await move(one, { kind: 'totp', secret }))).toEqual([409, 'too_many /data/attributes/kind']);
  });

  test('the audit log names who moved it in, and holds no secret', async () => {
    const id = await owner();
    const { id: authenticator } = await moved(id);
    const rows = (await auditRows()).filter((row) => row.target_id === authenticator);
    expect(rows.map((row) => row.action).sort()).toEqual(['authenticator.imported', 'authenticator.moved_in']);
    for (const row of rows) expect(row).toMatchObject({ actor_kind: 'client', actor_id: 'management', ip_address: '127.0.0.1' });
    expect(JSON.stringify(rows)).not.toContain(secret);
  });
});

describe('what is there', () => {
  test('lists are filtered by user, kind, status and use', async () => {
    const id = await owner();
    await moved(id);
    await moved(id, passkey());
    await startTotp(ctx, { user_id: id, name: 'Begun' });
    const kinds = async (query: string) =>
      ((await api.get(`/authenticators?filter[user]=${id}&${query}`)).body['data'] as Document[]).map((one) => `${one['attributes'].kind} ${one['attributes'].status}`).sort(); // prettier-ignore
    expect(await kinds('')).toEqual(['passkey active', 'totp active', 'totp pending']);
    expect(await kinds('filter[kind]=passkey')).toEqual(['passkey active']);
    expect(await kinds('filter[status]=pending')).toEqual(['totp pending']);
    expect(await kinds('filter[last_used_at][gte]=2020-01-01T00:00:00Z')).toEqual([]);
    expect(await prove(id, { method: 'totp', code: codeOf() })).toBe('proven');
    expect(await kinds('filter[last_used_at][gte]=2020-01-01T00:00:00Z')).toEqual(['totp active']);
    expect(await kinds('filter[last_used_at][lt]=2020-01-01T00:00:00Z')).toEqual([]);
    const sorted = await api.get(`/authenticators?filter[user]=${id}&sort=-last_used_at&include=user&page[size]=1`);
    expect(sorted.body['data'][0].attributes).toMatchObject({ kind: 'totp', status: 'active' });
    expect(sorted.body['included'][0].id).toBe(id);
    expect((await api.get('/authenticators?filter[kind]=key')).status).toBe(400);
  });

  test('users are found by two-step and by kind; codes that are left are counted down', async () => {
    const [with_totp, without] = [await owner(), await owner()];
    await moved(with_totp);
    const found = async (query: string) =>
      ((await api.get(`/users?page[size]=100&${query}`)).body['data'] as Document[]).map((one) => one['id']);
    expect(await found('filter[two_step_enabled]=true')).toContain(with_totp);
    expect(await found('filter[two_step_enabled]=true')).not.toContain(without);
    expect(await found('filter[two_step_enabled]=false')).toContain(without);
    expect(await found('filter[authenticator]=totp')).toContain(with_totp);
    expect(await found('filter[authenticator]=recovery_codes')).not.toContain(with_totp);
    const codes = (await makeRecoveryCodes(ctx, with_totp, noOrigin)) as unknown as readonly string[];
    expect(await found('filter[authenticator]=recovery_codes')).toContain(with_totp);
    expect(await shown(with_totp)).toMatchObject({ recovery_codes_left: 10 });
    const answer = { method: 'recovery_code', code: codes[0] ?? '' } as const;
    // One code at once in several places: one is taken, and one is counted.
    const outcomes = await Promise.all([1, 2, 3].map(() => prove(with_totp, answer)));
    expect(outcomes.filter((outcome) => outcome === 'proven')).toHaveLength(1);
    expect(await shown(with_totp)).toMatchObject({ recovery_codes_left: 9 });
    const [set] = (await api.get(`/authenticators?filter[user]=${with_totp}&filter[kind]=recovery_codes`)).body['data'] as Document[];
    expect(set?.['attributes']).toMatchObject({ codes_left: 9, name: 'Recovery codes' });
  });

  test('a name is changed, and nothing else; another one in between is not overwritten', async () => {
    const id = await owner();
    const made = await moved(id);
    const before = await api.get(`/authenticators/${made['id']}`);
    const renamed = await rename(made['id'], 'Work phone');
    expect([renamed.status, renamed.body['data'].attributes.name]).toEqual([200, 'Work phone']);
    expect(refusals(await rename(made['id'], ' '))).toEqual([422, 'too_short /data/attributes/name']);
    const other = { data: { type: 'authenticator', id: made['id'], attributes: { kind: 'passkey' } } };
    expect(refusals(await api.patch(`/authenticators/${made['id']}`, other))).toEqual([403, 'attribute_read_only /data/attributes/kind']);
    const late = await api.patch(
      `/authenticators/${made['id']}`,
      { data: { type: 'authenticator', id: made['id'], attributes: { name: 'Late' } } },
      { 'if-match': before.headers.get('etag') ?? '' },
    );
    expect(late.status).toBe(412);
    expect((await rename('018f0000-0000-7000-8000-000000000000', 'Nobody’s')).status).toBe(404);
  });

  test('a session tells its class and how it was reached', async () => {
    const user = await addUser(ctx);
    await new Browser(service.url).login(user.email, password);
    const [session] = (await api.get(`/sessions?filter[user]=${user.id}`)).body['data'] as Document[];
    expect(session?.['attributes']).toMatchObject({ acr: '1', amr: ['pwd'] });
  });
});

describe('taking away', () => {
  test('the last factor ends two-step and the codes; the owner is told, but not from where', async () => {
    const id = await owner();
    const made = await moved(id);
    await makeRecoveryCodes(ctx, id, noOrigin);
    expect((await api.delete(`/authenticators/${made['id']}`)).status).toBe(204);
    expect(await shown(id)).toMatchObject({ two_step_enabled: false, authenticator_kinds: [], recovery_codes_left: 0 });
    const mails = (await mailTo(service.url, (await shown(id))['email'] as string)).map(({ subject }) => subject);
    expect(mails).toEqual(
      expect.arrayContaining(['authenticator app was removed', 'Two-step sign-in is off'].map((words) => expect.stringContaining(words))),
    );
    expect((await mailTo(service.url, (await shown(id))['email'] as string)).map(({ text }) => text).join()).not.toContain('127.0.0.1');
    expect((await api.delete(`/authenticators/${made['id']}`)).status).toBe(404);
    const actions = (await auditRows()).filter((row) => row.target_id === made['id']).map((row) => row.action);
    expect(actions).toContain('authenticator.removed');
  });

  test('the only way in stays; one that was never confirmed goes', async () => {
    const id = await owner({ password: undefined });
    const made = await moved(id, passkey());
    expect(refusals(await api.delete(`/authenticators/${made['id']}`))).toEqual([409, 'last_way_in undefined']);
    await startTotp(ctx, { user_id: id, name: 'Begun' });
    const [begun] = (await api.get(`/authenticators?filter[user]=${id}&filter[status]=pending`)).body['data'] as Document[];
    expect((await api.delete(`/authenticators/${begun?.['id']}`)).status).toBe(204);
  });

  test('a reset removes all, ends sessions and remembered browsers, and mails; without a password a link follows', async () => {
    const user = await addUser(ctx);
    await signedIn(service, user);
    await moved(user.id);
    await moved(user.id, passkey());
    await rememberBrowser(ctx, { id: 'x'.repeat(43) }, user.id, noOrigin);
    const answer = await api.patch(`/users/${user.id}/reset_authenticators`);
    expect([answer.status, answer.body['data'].attributes]).toMatchObject([200, { two_step_enabled: false, authenticator_kinds: [] }]);
    expect((await api.get(`/authenticators?filter[user]=${user.id}`)).body['data']).toEqual([]);
    const [session] = (await api.get(`/sessions?filter[user]=${user.id}`)).body['data'] as Document[];
    expect(session?.['attributes']).toMatchObject({ status: 'revoked', revoke_reason: 'authenticators_reset' });
    expect(await ctx.db.knex('devices').where({ user_id: user.id })).toEqual([]);
    expect((await lastMailTo(service.url, user.email)).subject).toContain('sign-in methods were reset');
    const rows = (await auditRows()).filter((row) => row.target_id === user.id && /reset/.test(row.action));
    expect(rows.map((row) => [row.action, row.ip_address]).sort()).toEqual([
      ['authenticator.reset', '127.0.0.1'],
      ['user.authenticators_reset', '127.0.0.1'],
    ]);
    const bare = await owner({ password: undefined });
    await moved(bare, passkey());
    expect((await api.patch(`/users/${bare}/reset_authenticators`)).status).toBe(200);
    expect((await lastMailTo(service.url, (await shown(bare))['email'] as string)).text).toContain('/password/reset?code=');
  });

  test('remembered browsers are forgotten, and how many is noted', async () => {
    const id = await owner();
    await rememberBrowser(ctx, { id: 'a'.repeat(43) }, id, noOrigin);
    await rememberBrowser(ctx, { id: 'b'.repeat(43) }, id, noOrigin);
    expect((await api.patch(`/users/${id}/forget_devices`)).status).toBe(200);
    expect(await ctx.db.knex('devices').where({ user_id: id })).toEqual([]);
    const row = (await auditRows()).find((one) => one.target_id === id && one.action === 'user.devices_forgotten');
    expect(row?.changes).toEqual({ devices: [null, 2] });
  });
});

describe('a narrow permission', () => {
  let administrator: string;
  let authenticator: string;
  const only = (...permissions: string[]) => manage(service.url, permissions.join(' '));
  const codes = ({ status, body }: ApiAnswer) => [status, body['errors']?.[0]?.code];
  const escalation = [403, 'scope_escalation'];

  beforeAll(async () => {
    const role = (await api.get('/roles?filter[name]=administrator')).body['data'][0].id as string;
    administrator = await owner({}, { roles: links('role', role) });
    authenticator = (await moved(administrator))['id'] as string;
  });

  test('reads nothing without its own', async () => {
    const stranger = await only('users:read', 'users:write');
    expect(codes(await stranger.get('/authenticators'))).toEqual([403, 'insufficient_scope']);
    expect(codes(await stranger.get(`/authenticators/${authenticator}`))).toEqual([403, 'insufficient_scope']);
    expect(codes(await move(administrator, { kind: 'totp', secret }, stranger))).toEqual([403, 'insufficient_scope']);
    const reader = await only('authenticators:read');
    expect(codes(await rename(authenticator, 'Mine', reader))).toEqual([403, 'insufficient_scope']);
    expect(codes(await reader.delete(`/authenticators/${authenticator}`))).toEqual([403, 'insufficient_scope']);
  });

  test('authenticators:write moves nothing in for an administrator, removes and renames nothing (attacks 25.577 and 25.1095)', async () => {
    const caller = await only('authenticators:read', 'authenticators:write', 'users:read', 'users:write');
    expect(codes(await move(administrator, { kind: 'totp', secret }, caller))).toEqual(escalation);
    expect(codes(await move(administrator, passkey(), caller))).toEqual(escalation);
    expect(codes(await caller.delete(`/authenticators/${authenticator}`))).toEqual(escalation);
    // By its name the administrator knows which one to keep (attack 25.1095).
    expect(codes(await rename(authenticator, 'Lost phone, please remove', caller))).toEqual(escalation);
    // Nobody near is out of reach.
    const near = await owner();
    const mine = await move(near, passkey(), caller);
    expect(mine.status).toBe(201);
    expect((await rename(mine.body['data'].id as string, 'Phone', caller)).status).toBe(200);
    expect((await api.get(`/authenticators?filter[user]=${administrator}`)).body['data']).toHaveLength(1);
  });

  test('users:write resets nobody who may do more, and forgets no browser of theirs (attack 25.572)', async () => {
    const caller = await only('users:read', 'users:write', 'authenticators:write', 'sessions:write');
    expect(codes(await caller.patch(`/users/${administrator}/reset_authenticators`))).toEqual(escalation);
    expect(codes(await caller.patch(`/users/${administrator}/forget_devices`))).toEqual(escalation);
    expect((await caller.patch(`/users/${await owner()}/reset_authenticators`)).status).toBe(200);
    // It removes what authenticators:write guards.
    const clerk = await only('users:read', 'users:write');
    expect(codes(await clerk.patch(`/users/${await owner()}/reset_authenticators`))).toEqual([403, 'insufficient_scope']);
    expect(await shown(administrator)).toMatchObject({ two_step_enabled: true, authenticator_kinds: ['totp'] });
  });

  test('environments:write weakens no setting of the sign-in (attack 25.573)', async () => {
    const caller = await only(...managementPermissions.filter((name) => name !== 'signing_keys:write'));
    const { id } = ctx.environment;
    const weaker: Document = {
      passkeys_enabled: false, passkey_rp_id: null, totp_enabled: false, second_factor_policy: 'off', second_factor_grace_lifetime: 86_400, confirmation_lifetime: 86_400,
      remember_device_lifetime: 0, email_code_sign_in_enabled: true, email_second_factor_enabled: true, breached_passwords: 'off', new_device_mail: false,
      management_required_acr: 'phr',
    }; // prettier-ignore
    const { attributes } = (await api.get(`/environments/${id}`)).body['data'] as { attributes: Document };
    for (const [name, value] of Object.entries(weaker)) {
      // One for development tells nobody of new browsers anyway; the first passkey fixes its domain.
      const other = name === 'new_device_mail' ? !attributes[name] : name === 'passkey_rp_id' && attributes[name] === null ? rp_id : value;
      expect([name, attributes[name]]).not.toEqual([name, other]);
      const answer = await caller.update('environments', id, { [name]: other });
      expect([name, ...codes(answer)]).toEqual([name, ...escalation]);
      expect(answer.body['errors'][0].source.pointer).toBe(`/data/attributes/${name}`);
    }
  });

  test('clients:write takes no demand from an application that reaches further (attack 25.574)', async () => {
    const caller = await only('clients:read', 'clients:write', 'api_resources:read', 'api_resources:write');
    const app = await api.create('clients', { name: 'Console', first_party: true, redirect_uris: ['https://c.example/cb'], required_acr: 'phr', max_authentication_age: 60 }); // prettier-ignore
    for (const attributes of [{ required_acr: null }, { max_authentication_age: null }]) {
      const answer = await caller.update('clients', app['id'], attributes);
      expect(codes(answer)).toEqual(escalation);
    }
    const own = (await api.get('/api_resources')).body['data'].find((one: Document) => one['attributes'].is_system) as Document;
    const answer = await caller.update('api_resources', own['id'], { required_acr: '2' });
    expect(codes(answer)).toEqual(escalation);
  });

  test('connections:write lets no provider stand in for the second step (attack 25.575)', async () => {
    const caller = await only('connections:read', 'connections:write', 'users:read', 'users:write');
    const attributes = {
      name: `sf${count++}`,
      display_name: 'Corp',
      strategy: 'oidc',
      issuer: 'https://id.corp.example',
      provider_client_id: 'us',
    };
    const creation = (more: Document) => caller.attempt('connections', { ...attributes, ...more });
    const change = (who: Api, id: string, more: Document) => who.update('connections', id, more);
    for (const second_factor of ['provider', 'asserted']) expect(codes(await creation({ second_factor }))).toEqual(escalation);
    const made = (await creation({})).body['data'] as Document;
    expect(made['attributes']).toMatchObject({ second_factor: 'own', trusted_acr_values: [] });
    const refused = await change(caller, made['id'], { second_factor: 'provider' });
    expect([...codes(refused), refused.body['errors'][0].source.pointer]).toEqual([...escalation, '/data/attributes/second_factor']);
    expect((await change(caller, made['id'], { trusted_acr_values: ['gold'] })).status).toBe(200);
    expect((await change(api, made['id'], { second_factor: 'asserted' })).status).toBe(200);
    // From there on who it asks, and what it believes, is for holders of everything.
    for (const more of [
      { second_factor: 'provider' },
      { second_factor: 'own' },
      { trusted_acr_values: ['gold', 'silver'] },
      { issuer: 'https://evil.example' },
    ])
      expect([more, ...codes(await change(caller, made['id'], more))]).toEqual([more, ...escalation]);
    expect((await change(caller, made['id'], { display_name: 'Corporation' })).status).toBe(200);
    expect((await change(api, made['id'], { second_factor: 'own' })).status).toBe(200);
  });
});

describe('settings', () => {
  const patch = (attributes: Document, id = ctx.environment.id) => api.update('environments', id, attributes);

  test('have the defaults of the specification, and bounds', async () => {
    const { attributes } = (await api.get(`/environments/${ctx.environment.id}`)).body['data'] as { attributes: Document };
    expect(attributes).toMatchObject({
      passkeys_enabled: true, totp_enabled: true, second_factor_policy: 'optional', second_factor_grace_lifetime: 0, confirmation_lifetime: 600, remember_device_lifetime: 2_592_000,
      email_code_sign_in_enabled: false, email_second_factor_enabled: false, breached_passwords: 'refuse', management_required_acr: null,
    }); // prettier-ignore
    const wrong: Document = {
      passkeys_enabled: 'yes', passkey_rp_id: 'Example.com', totp_enabled: null, second_factor_policy: 'sometimes', second_factor_grace_lifetime: -1, confirmation_lifetime: 0,
      remember_device_lifetime: 31_536_001, email_code_sign_in_enabled: 1, email_second_factor_enabled: 'no', new_device_mail: null, management_required_acr: '1',
    }; // prettier-ignore
    const answer = await patch(wrong);
    expect(answer.status).toBe(422);
    expect(new Set((answer.body['errors'] as Document[]).map((one) => one['source'].pointer.split('/').at(-1)))).toEqual(
      new Set(Object.keys(wrong)),
    );
    expect((await patch({ confirmation_lifetime: 86_401 })).status).toBe(422);
  });

  test('a new environment for development mails nothing of new browsers unless it says so; others do', async () => {
    const made = async (kind: string, more: Document = {}) => {
      const attributes = { name: kind, slug: `s${count++}`, kind, ...more };
      return (await api.attempt('environments', attributes)).body['data'].attributes.new_device_mail as boolean;
    };
    expect([await made('development'), await made('staging'), await made('development', { new_device_mail: true })]).toEqual([
      false,
      true,
      true,
    ]);
  });

  test('the domain of passkeys is a host of the environment, and stays once there is one (WebAuthn L3 5.1.2)', async () => {
    const answer = await api.attempt('environments', { name: 'Rp', slug: `s${count++}`, kind: 'staging', passkey_rp_id: 'example.com' }); // prettier-ignore
    expect(refusals(answer)).toEqual([422, 'invalid_value /data/attributes/passkey_rp_id']);
    expect(refusals(await patch({ passkey_rp_id: 'example.com' }))).toEqual([422, 'invalid_value /data/attributes/passkey_rp_id']);
    await moved(await owner(), passkey());
    expect(refusals(await patch({ passkey_rp_id: null }))).toEqual([409, 'passkeys_exist /data/attributes/passkey_rp_id']);
    // The same again changes nothing.
    expect((await patch({ passkey_rp_id: rp_id, second_factor_policy: 'required_for_management' })).status).toBe(200);
    await patch({ second_factor_policy: 'optional' });
  });

  test('a client, an API and a connection say what they demand', async () => {
    const client = await api.create('clients', {
      name: 'Bank',
      redirect_uris: ['https://b.example/cb'],
      required_acr: 'phr',
      max_authentication_age: 300,
    });
    expect(client['attributes']).toMatchObject({ required_acr: 'phr', max_authentication_age: 300 });
    const plain = await api.create('clients', { name: 'Blog', redirect_uris: ['https://b.example/cb'] });
    expect(plain['attributes']).toMatchObject({ required_acr: null, max_authentication_age: null });
    const resource = await api.create('api_resources', {
      identifier: 'https://bank.example',
      name: 'Bank',
      required_acr: '2',
    });
    expect(resource['attributes']).toMatchObject({ required_acr: '2', max_authentication_age: null });
    const wrong = await api.attempt('clients', { name: 'B', redirect_uris: ['https://b.example/cb'], required_acr: '1', max_authentication_age: 0 }); // prettier-ignore
    expect(refusals(wrong)).toEqual([
      422,
      'invalid_value /data/attributes/required_acr',
      'too_short /data/attributes/max_authentication_age',
    ]);
  });
});

test('an installation of before gets the permissions, and who held everything still does', async () => {
  const added = ['authenticators:read', 'authenticators:write'];
  const attributes = { name: 'Older', slug: `s${count++}`, kind: 'staging' };
  const { id: environment_id } = (await api.attempt('environments', attributes)).body['data'] as Document;
  await ctx.db.knex('permissions').where({ environment_id }).whereIn('name', added).delete();
  const before = managementPermissions.filter((name) => !added.includes(name));
  await ctx.db.knex('client_grants').where({ environment_id }).update({ scopes: before });
  await bootstrap(service.deps);
  const grant = await ctx.db.knex('client_grants').where({ environment_id }).first<{ scopes: string[] }>();
  expect(grant?.scopes).toEqual([...managementPermissions]);
  const held = await ctx.db.knex('permissions as p').join('role_permissions as r', (on) => on.on('r.permission_id', 'p.id').andOn('r.environment_id', 'p.environment_id')).where('p.environment_id', environment_id).whereIn('p.name', added).pluck<string[]>('p.name'); // prettier-ignore
  expect(held.sort()).toEqual(added);
  // A grant that was narrower stays so.
  await ctx.db.knex('permissions').where({ environment_id }).whereIn('name', added).delete();
  await ctx.db
    .knex('client_grants')
    .where({ environment_id })
    .update({ scopes: ['users:read'] });
  await bootstrap(service.deps);
  expect((await ctx.db.knex('client_grants').where({ environment_id }).first<{ scopes: string[] }>())?.scopes).toEqual(['users:read']);
});
