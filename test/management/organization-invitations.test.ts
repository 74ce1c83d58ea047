// Invitations as administrators make them: whom, by whom, how often, and what becomes of them.
import { beforeAll, expect, test } from 'vitest';
import { acceptInvitation, findInvitation } from '../../src/domain/organizations/invitations.js';
import { transaction } from '../../src/domain/context.js';
import { digest } from '../../src/lib/digest.js';
import { addUser } from '../support/data.js';
import { addOrganization, invitationPath, invite } from '../support/invitations.js';
import { lastMailTo, mailTo } from '../support/mailbox.js';
import { link, links, manage, type Api, type Document } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';

let api: Api;

const service = sharedManagedService();

beforeAll(async () => {
  api = await manage(service.url);
});

const errorOf = ({ status, body }: { status: number; body: Document }) => [status, body['errors']?.[0]?.code];
const at = (record: Document) => `/organization_invitations/${record['id']}`;
const tokenFor = async (email: string) => (await invitationPath(service.url, email)).slice('/invitations/'.length);
const statusOf = async (record: Document) => (await api.get(at(record))).body['data'].attributes.status;

test('an invitation is made, mailed, listed and revoked (specification 16.10.1)', async () => {
  const acme = await addOrganization(api, { display_name: 'Acme Ltd' });
  const made = await invite(api, { organization: acme, email: 'Ada@Acme.example' }, { expires_in: 3600 });
  expect(made.status).toBe(201);
  const record = made.body['data'];
  expect(record.attributes).toMatchObject({ email: 'Ada@acme.example', status: 'pending' });
  expect(record.attributes).not.toHaveProperty('expires_in');
  expect(made.text).not.toContain(await tokenFor('Ada@acme.example'));
  expect((await lastMailTo(service.url, 'Ada@acme.example')).subject).toBe('Invitation to Acme Ltd');
  const list = (filter: string) => api.get(`/organization_invitations?filter[organization]=${acme['id']}&${filter}`);
  expect((await list('filter[email]=ADA@acme.example')).body['data']).toHaveLength(1);
  expect((await list('filter[status]=pending')).body['data']).toHaveLength(1);
  expect((await list('filter[status]=accepted,expired,revoked')).body['data']).toHaveLength(0);
  expect((await api.patch(`${at(record)}/revoke`)).body['data'].attributes.status).toBe('revoked');
  expect((await list('filter[status]=revoked')).body['data']).toHaveLength(1);
  for (const again of [api.patch(`${at(record)}/revoke`), api.post(`${at(record)}/resend`)])
    expect(errorOf(await again)).toEqual([409, 'invalid_transition']);
  expect((await findInvitation(await service.context(), await tokenFor('Ada@acme.example')))?.status).toBe('revoked');
});

test('whom an invitation waits for, and who is a member, is not invited (specification 16.10.2)', async () => {
  const [acme, other] = [await addOrganization(api), await addOrganization(api)];
  const member = await addUser(await service.context());
  const relationships = { organization: link('organization', acme['id']), user: link('user', member.id) };
  await api.create('organization_memberships', {}, relationships);
  expect(errorOf(await invite(api, { organization: acme, email: member.email.toUpperCase() }))).toEqual([409, 'already_member']);
  expect((await invite(api, { organization: acme, email: 'bob@acme.example' })).status).toBe(201);
  expect(errorOf(await invite(api, { organization: acme, email: 'BOB@acme.example' }))).toEqual([409, 'already_invited']);
  expect((await invite(api, { organization: other, email: 'bob@acme.example' })).status).toBe(201);
});

test('of two invitations of one address at once one is made (specification 16.10.2)', async () => {
  const organization = await addOrganization(api);
  const made = await Promise.all([1, 2, 3].map(() => invite(api, { organization, email: 'twice@acme.example' })));
  expect(made.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
});

test.each([
  ['no address', { email: 'nobody' }, 'invalid_email'],
  ['too short a time', { email: 'x@acme.example', expires_in: 3599 }, 'too_short'],
  ['too long a time', { email: 'x@acme.example', expires_in: 2_592_001 }, 'too_long'],
])('%s is refused (specification 16.10.1)', async (_what, { email, ...attributes }, code) => {
  expect(errorOf(await invite(api, { organization: await addOrganization(api), email }, attributes))).toEqual([422, code]);
});

test('a disabled organization invites nobody (specification 16.10.2)', async () => {
  const organization = await addOrganization(api, { status: 'disabled' });
  expect(errorOf(await invite(api, { organization, email: 'x@acme.example' }))).toEqual([409, 'invalid_transition']);
});

test('nobody invites to more than they hold, nor to roles of the environment (attack 43.1330)', async () => {
  const organization = await addOrganization(api);
  const [admin] = (await api.get('/roles?filter[name]=organization_admin')).body['data'];
  const other = await api.create('roles', { name: 'of-the-environment' });
  const scope = 'organization_invitations:write organization_invitations:read roles:read organizations:read';
  const narrow = await manage(service.url, scope);
  expect(errorOf(await invite(narrow, { organization, email: 'n@acme.example', roles: [admin.id] }))).toEqual([403, 'scope_escalation']);
  expect(errorOf(await invite(api, { organization, email: 'n@acme.example', roles: [other['id']] }))).toEqual([422, 'wrong_role_kind']);
  expect((await invite(narrow, { organization, email: 'n@acme.example' })).status).toBe(201);
});

test('nobody invites without roles where the default roles hold more than they do (attack 43.1490)', async () => {
  const organization = await addOrganization(api);
  const [admin] = (await api.get('/roles?filter[name]=organization_admin')).body['data'];
  const narrow = await manage(service.url, 'organization_invitations:write organization_invitations:read roles:read organizations:read');
  await api.post(`/organizations/${organization['id']}/relationships/default_roles`, links('role', admin.id));
  expect(errorOf(await invite(narrow, { organization, email: 'd@acme.example' }))).toEqual([403, 'scope_escalation']);
  expect((await invite(api, { organization, email: 'd@acme.example' })).status).toBe(201);
});

test('sending again replaces the link, also of one that is past its time (specification 16.10.3, attack 43.1331)', async () => {
  const organization = await addOrganization(api);
  const record = (await invite(api, { organization, email: 'again@acme.example' }, { expires_in: 3600 })).body['data'];
  const first = await tokenFor('again@acme.example');
  service.clock.advance(3_600_000);
  api = await manage(service.url);
  expect(await statusOf(record)).toBe('expired');
  const expired = await api.get(`/organization_invitations?filter[organization]=${organization['id']}&filter[status]=expired`);
  expect(expired.body['data']).toHaveLength(1);
  const sent = await api.post(`${at(record)}/resend`);
  expect([sent.status, sent.body['data'].attributes.status]).toEqual([202, 'pending']);
  const { sent_at, expires_at } = sent.body['data'].attributes;
  expect(Date.parse(expires_at) - Date.parse(sent_at)).toBe(3_600_000);
  const ctx = await service.context();
  expect(await findInvitation(ctx, first)).toBeNull();
  expect((await findInvitation(ctx, await tokenFor('again@acme.example')))?.status).toBe('pending');
});

test('an expired invitation makes place for another, and stays expired (specification 16.10.2)', async () => {
  const organization = await addOrganization(api);
  const record = (await invite(api, { organization, email: 'late@acme.example' }, { expires_in: 3600 })).body['data'];
  service.clock.advance(3_600_001);
  api = await manage(service.url);
  expect((await invite(api, { organization, email: 'late@acme.example' })).status).toBe(201);
  expect(await statusOf(record)).toBe('expired');
  expect(errorOf(await api.post(`${at(record)}/resend`))).toEqual([409, 'invalid_transition']);
});

test('an administrator fills nobody’s mailbox with invitations (attack 43.1332)', async () => {
  const organization = await addOrganization(api);
  const record = (await invite(api, { organization, email: 'flood@acme.example' })).body['data'];
  for (let sent = 1; sent < 10; sent += 1) expect((await api.post(`${at(record)}/resend`)).status).toBe(202);
  expect((await api.post(`${at(record)}/resend`)).status).toBe(429);
  expect(await mailTo(service.url, 'flood@acme.example')).toHaveLength(10);
});

test('whoever accepts gets the roles of the invitation, once, however many try at once (specification 16.10.4, attack 43.1333)', async () => {
  const organization = await addOrganization(api);
  const editor = await api.create('roles', { name: 'invited-editor', kind: 'organization' });
  const user = await addUser(await service.context());
  const record = (await invite(api, { organization, email: user.email, roles: [editor['id']] })).body['data'];
  const [token, ctx] = [await tokenFor(user.email), await service.context()];
  const accept = () => transaction(ctx, (tx) => acceptInvitation(tx, digest(token), user));
  const accepted = await Promise.all([accept(), accept(), accept()]);
  expect(accepted.filter(Boolean)).toHaveLength(1);
  const members = await api.get(`/organization_memberships?filter[organization]=${organization['id']}&include=roles`);
  expect(members.body['data']).toHaveLength(1);
  expect(members.body['data'][0].attributes.source).toBe('invitation');
  expect(members.body['included'].map((one: Document) => one['attributes'].name)).toEqual(['invited-editor']);
  expect(await statusOf(record)).toBe('accepted');
  expect(errorOf(await api.patch(`${at(record)}/revoke`))).toEqual([409, 'invalid_transition']);
});

test('a member who is let in meanwhile gets the roles too (specification 16.10.4)', async () => {
  const organization = await addOrganization(api);
  const editor = await api.create('roles', { name: 'later-editor', kind: 'organization' });
  const user = await addUser(await service.context());
  await invite(api, { organization, email: user.email, roles: [editor['id']] });
  const relationships = { organization: link('organization', organization['id']), user: link('user', user.id) };
  await api.create('organization_memberships', {}, relationships);
  const [token, ctx] = [await tokenFor(user.email), await service.context()];
  expect(await transaction(ctx, (tx) => acceptInvitation(tx, digest(token), user))).not.toBeNull();
  const members = await api.get(`/organization_memberships?filter[organization]=${organization['id']}&filter[role]=${editor['id']}`);
  expect(members.body['data']).toHaveLength(1);
});

test('an address that nobody proved, another one, and a time that is over accept nothing (attack 43.1334)', async () => {
  const organization = await addOrganization(api);
  const ctx = await service.context();
  const [unproven, other] = [await addUser(ctx, { email_verified: false }), await addUser(ctx)];
  await invite(api, { organization, email: unproven.email }, { expires_in: 3600 });
  const token = await tokenFor(unproven.email);
  const accept = (user: typeof other) => transaction(ctx, (tx) => acceptInvitation(tx, digest(token), user));
  expect([await accept(unproven), await accept(other)]).toEqual([null, null]);
  service.clock.advance(3_600_000);
  expect(await accept({ ...unproven, email_verified: true })).toBeNull();
});
