import { describe, expect, test } from 'vitest';
import { linkIdentity } from '../../src/domain/connections/identities.js';
import { addConsent } from '../../src/db/tables/consents.js';
import { findUser, findUserByEmailKey, updateUser } from '../../src/db/tables/users.js';
import { uuidv7 } from '../../src/lib/random.js';
import { signedInWith } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, addUser } from '../support/data.js';
import { lastMailTo } from '../support/mailbox.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const admin = shared(() =>
  signedInWith(
    service,
    ...['users', 'sessions', 'connections', 'clients', 'roles'].flatMap((name) => [`${name}:read`, `${name}:write`]),
    'webhooks:read',
    'audit_logs:read',
  ),
);
const reader = shared(() => signedInWith(service, 'users:read', 'sessions:read'));

const html = async (browser: Browser, path: string) => (await browser.get(path)).text();
const done = (response: Response) => [response.status, response.headers.get('location')];

/** What the audit log says last of the target. */
async function lastEntry(target: string): Promise<string> {
  const page = await html(admin, `/dashboard/audit_logs?target=${target}`);
  return /<tbody>[\s\S]*?<\/svg>\s*([^<]+)<\/span>/.exec(page)?.[1] ?? '';
}

describe('connected accounts', () => {
  test('are listed, and unlinked after a question', async () => {
    const user = await addUser(ctx);
    const connection = await addConnection(ctx);
    const identity = await linkIdentity(ctx, user.id, {
      connection_id: connection.id,
      subject: 'sub-1',
      email: 'ada@provider.example',
      claims: {},
      generation: 1,
    });
    const tab = await html(admin, `/dashboard/users/${user.id}/identities`);
    expect(tab).toContain('ada@provider.example');
    expect(tab).toContain(`/dashboard/identities/${identity.id}`);
    const record = await html(admin, `/dashboard/identities/${identity.id}`);
    expect(record).toContain(`/dashboard/identities/${identity.id}/delete`);
    const place = `/dashboard/identities/${identity.id}/delete`;
    expect(await html(admin, place)).toContain(`href="/dashboard/users/${user.id}/identities"`);
    expect(done(await admin.submit(place, {}))).toEqual([303, `/dashboard/users/${user.id}/identities?done=deleted`]);
    expect(await html(admin, `/dashboard/users/${user.id}/identities`)).toContain('No connected accounts');
    expect(await lastEntry(identity.id)).toBe('Account disconnected: ada@provider.example by Ada Lovelace');
  });

  test('the only way in is kept, and readers are not offered the question', async () => {
    const user = await addUser(ctx, { password_hash: null });
    const connection = await addConnection(ctx);
    const identity = await linkIdentity(ctx, user.id, {
      connection_id: connection.id,
      subject: 'sub-2',
      email: null,
      claims: {},
      generation: 1,
    });
    const place = `/dashboard/identities/${identity.id}/delete`;
    const refused = await admin.submit(place, {});
    expect([refused.status, (await refused.text()).includes('only way to sign in')]).toEqual([409, true]);
    expect(await html(reader, `/dashboard/identities/${identity.id}`)).not.toContain(place);
    expect((await reader.get(place)).status).toBe(403);
    const token = csrfOf(await html(reader, '/dashboard/users'));
    expect((await reader.post(place, { _csrf: token })).status).toBe(403);
    expect((await admin.post(place, {})).status).toBe(403);
    expect((await new Browser(service.url).get(place)).status).toBe(303);
  });
});

test('consents are listed, and withdrawn after a question', async () => {
  const user = await addUser(ctx);
  const client = await addClient(ctx, { name: 'Third Notes' });
  await addConsent(ctx.scope, {
    id: uuidv7(1),
    user_id: user.id,
    client_id: client.id,
    client_digest: null,
    resource: '',
    scopes: ['openid', 'email'],
    at: ctx.clock.now(),
  });
  const tab = await html(admin, `/dashboard/users/${user.id}/consents`);
  expect(tab).toContain('Third Notes');
  const [, place = ''] = /href="(\/dashboard\/consents\/[^"]+)"/.exec(tab) ?? [];
  expect((await reader.get(`${place}/delete`)).status).toBe(403);
  expect(done(await admin.submit(`${place}/delete`, {}))).toEqual([303, `/dashboard/users/${user.id}/consents?done=deleted`]);
  expect(await html(admin, `/dashboard/users/${user.id}/consents`)).toContain('No consents');
});

describe('the page of a user', () => {
  test('shows what is there, and leads to the form for the rest (specification 9.2.19)', async () => {
    const user = await addUser(ctx);
    const path = `/dashboard/users/${user.id}`;
    const page = await html(admin, path);
    for (const label of ['Phone number', 'Picture URL', 'Metadata', 'External ID']) expect(page).not.toContain(`<dt>${label}`);
    expect(page).not.toContain('>–<');
    expect(page).toContain(`<a href="${path}/edit">Add details</a>`);
    expect(await html(reader, path)).not.toContain('Add details');
    await updateUser(ctx.scope, user.id, { phone_number: '+44 20 7946 0000', metadata: { plan: 'gold' } });
    const filled = await html(admin, path);
    for (const label of ['Phone number', 'Metadata']) expect(filled).toContain(`<dt>${label}`);
  });

  test('cancels the deletion that its user asked for, and tells them (specification 4.14.4)', async () => {
    const user = await addUser(ctx);
    const path = `/dashboard/users/${user.id}`;
    expect(await html(admin, path)).not.toContain('Cancel deletion');
    expect((await admin.post(`${path}/cancel_deletion`, { _csrf: csrfOf(await html(admin, '/dashboard/users')) })).status).toBe(409);
    await updateUser(ctx.scope, user.id, { deletion_due_at: new Date(ctx.clock.now().getTime() + 86_400_000) });
    expect(await html(reader, path)).not.toContain('Cancel deletion');
    expect((await reader.post(`${path}/cancel_deletion`, { _csrf: csrfOf(await html(reader, '/dashboard/users')) })).status).toBe(403);
    expect(await html(admin, path)).toContain('Cancel deletion');
    expect(done(await admin.submit(`${path}/cancel_deletion`, {}))).toEqual([303, `${path}?done=deletion_cancelled`]);
    expect((await findUser(ctx.scope, user.id))?.deletion_due_at).toBeNull();
    expect((await lastMailTo(service.url, user.email)).text).toContain('was canceled');
    expect(
      (await html(admin, `/dashboard/audit_logs?target=${user.id}`)).match(/<\/svg>\s*Deletion of the account canceled/g),
    ).toHaveLength(1);
  });

  test('marks the address as proven, as PATCH does', async () => {
    const user = await addUser(ctx, { email_verified: false });
    const place = `/dashboard/users/${user.id}/verify_email`;
    expect(await html(admin, `/dashboard/users/${user.id}`)).toContain(place);
    expect(done(await admin.submit(place, {}))).toEqual([303, `/dashboard/users/${user.id}?done=email_verified`]);
    expect((await findUser(ctx.scope, user.id))?.email_verified).toBe(true);
    expect(await html(admin, `/dashboard/users/${user.id}`)).not.toContain(place);
    expect(await html(admin, `/dashboard/audit_logs?target=${user.id}`)).toContain('User changed by ');
    expect((await reader.get(place)).status).toBe(403);
    expect((await reader.post(place, { _csrf: csrfOf(await html(reader, '/dashboard/users')) })).status).toBe(403);
    expect((await admin.get('/dashboard/users/01890000-0000-7000-8000-000000000000/verify_email')).status).toBe(404);
  });

  test('ends all sessions after a question', async () => {
    const user = await addUser(ctx);
    const theirs = await signedIn(service, user);
    expect((await theirs.get('/account')).status).toBe(200);
    const place = `/dashboard/users/${user.id}/end_sessions`;
    expect(await html(admin, `/dashboard/users/${user.id}`)).toContain(place);
    expect(await html(admin, place)).toContain('signed out everywhere');
    expect((await theirs.get('/account')).status).toBe(200);
    expect(done(await admin.submit(place, {}))).toEqual([303, `/dashboard/users/${user.id}/sessions?done=revoked`]);
    expect((await theirs.get('/account')).status).toBe(303);
    expect(await html(reader, `/dashboard/users/${user.id}`)).not.toContain(place);
    expect((await reader.get(place)).status).toBe(403);
  });

  test('sends a password reset', async () => {
    const user = await addUser(ctx);
    const page = `/dashboard/users/${user.id}`;
    const sent = await admin.submit(page, {}, `${page}/send_password_reset`);
    expect(done(sent)).toEqual([303, `${page}?done=mail_sent`]);
    expect(await lastEntry(user.id)).toMatch(/^Password reset sent by /);
  });
});

describe('an invitation', () => {
  const fields = { email: 'invited@example.com', first_name: 'In', last_name: 'Vited' };

  test('makes the account and mails the link that chooses a password', async () => {
    expect(await html(admin, '/dashboard/users')).toContain('/dashboard/users/invite');
    expect(await html(admin, '/dashboard/users/invite')).not.toContain('name="password"');
    const answer = await admin.submit('/dashboard/users/invite', fields);
    const user = await findUserByEmailKey(ctx.scope, fields.email);
    expect(done(answer)).toEqual([303, `/dashboard/users/${user?.id}?done=invited`]);
    expect(user?.password_hash).toBeNull();
    const mail = await lastMailTo(service.url, fields.email);
    const [, link = ''] = /(http:\S+\/password\/reset\?\S+)/.exec(mail.text) ?? [];
    expect(mail.text).toContain('An administrator');
    const theirs = new Browser(service.url);
    const query = new URL(link).searchParams;
    const reset = await theirs.submit(link.slice(service.url.length), {
      reset_id: query.get('reset_id') ?? '',
      code: query.get('code') ?? '',
      password: 'a first password of mine',
    });
    expect(reset.status).toBe(303);
    expect((await theirs.login(fields.email, 'a first password of mine')).status).toBe(303);
    expect((await findUserByEmailKey(ctx.scope, fields.email))?.email_verified).toBe(true);
  });

  test('is refused for an address that has an account, for nonsense, and to readers; no mail goes out', async () => {
    const taken = await addUser(ctx);
    expect((await admin.submit('/dashboard/users/invite', { ...fields, email: taken.email })).status).toBe(422);
    expect((await admin.submit('/dashboard/users/invite', { ...fields, email: 'nobody' })).status).toBe(422);
    expect((await reader.get('/dashboard/users/invite')).status).toBe(403);
    expect(await html(reader, '/dashboard/users')).not.toContain('/dashboard/users/invite');
    await expect(lastMailTo(service.url, taken.email)).rejects.toThrow();
  });
});
