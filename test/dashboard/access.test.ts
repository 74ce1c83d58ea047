import { beforeAll, describe, expect, test } from 'vitest';
import { addOrganization } from '../support/organizations.js';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { signedInWith } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addEnvironment, addUser } from '../support/data.js';
import { startTestService } from '../support/service.js';
import { managementCollections } from '../../src/domain/reach/management-permissions.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService(() => startTestService({ ADMIN_EMAIL: admin.email, ADMIN_PASSWORD: admin.password }));
const admin = { email: 'root@example.com', password: 'nanoseconds of wire' };

const ctx = contextOf(service);

/** Logos have no list of their own: they are seen at the branding that they are for (logos.test.ts). */
const collections = [...managementCollections.filter((name) => name !== 'logos'), 'identities', 'consents'];
/** The collection whose permissions count. */
const permittedBy = (name: string) => ({ identities: 'users', consents: 'users' })[name] ?? name;
const creatable = collections.filter(
  (name) =>
    ![
      'sessions',
      'authenticators',
      'identities',
      'consents',
      'signal_streams',
      'event_types',
      'events',
      'organization_groups',
      'audit_logs',
      'security_events',
      'request_traces',
    ].includes(name),
);

async function administrator(): Promise<Browser> {
  const browser = new Browser(service.url);
  await browser.login(admin.email, admin.password);
  return browser;
}

describe('nobody signed in (attack 17.207)', () => {
  test.each(['', ...collections.map((name) => `/${name}`), '/settings', '/webhooks/new', '/users/x/delete'])(
    'GET /dashboard%s leads to sign-in',
    async (path) => {
      const answer = await new Browser(service.url).get(`/dashboard${path}`);
      expect(answer.status).toBe(303);
      expect(answer.headers.get('location')).toBe(`/login?${new URLSearchParams({ return_to: `/dashboard${path}` }).toString()}`);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    },
  );

  test.each(creatable)('POST /dashboard/%s does nothing', async (name) => {
    const answer = await new Browser(service.url).post(`/dashboard/${name}`, { name: 'x' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/login?return_to=%2Fdashboard']);
  });
});

describe('a user without any permission (attack 17.207)', () => {
  test('is told so, on every page', async () => {
    const browser = await signedInWith(service);
    for (const path of ['', ...collections.map((name) => `/${name}`)]) {
      const answer = await browser.get(`/dashboard${path}`);
      expect(answer.status).toBe(403);
      const page = await answer.text();
      expect(page).toContain('no_management_permission');
      expect(page).toContain('<h1>You don’t have access to the dashboard</h1>');
      expect(page).toMatch(/<a class="button primary" href="\/account">Go to your account</);
    }
  });
});

describe('what is not allowed is not shown and not possible', () => {
  const readers = shared(async () => ({
    users: await signedInWith(service, 'users:read'),
    roles: await signedInWith(service, 'roles:read'),
  }));

  test.each(collections)('%s: only with its own permission', async (name) => {
    const other = permittedBy(name) === 'users' ? 'roles' : 'users';
    const refused = await readers[other].get(`/dashboard/${name}`);
    const html = await refused.text();
    expect(refused.status).toBe(403);
    expect(html).toContain(`${permittedBy(name)}:read`);
    const allowed = await (await signedInWith(service, `${permittedBy(name)}:read`)).get(`/dashboard/${name}`);
    expect(allowed.status).toBe(200);
    expect(html).not.toContain(`href="/dashboard/${name}"`);
    expect(html).toContain(`href="/dashboard/${other}"`);
  });

  test.each(creatable)('%s: reading does not create', async (name) => {
    const browser = await signedInWith(service, `${name}:read`);
    const list = await browser.get(`/dashboard/${name}`);
    const html = await list.text();
    expect(list.status).toBe(200);
    expect(html).not.toContain(`/dashboard/${name}/new`);
    expect((await browser.get(`/dashboard/${name}/new`)).status).toBe(403);
    const answer = await browser.post(`/dashboard/${name}`, { _csrf: csrfOf(html), name: 'x', email: 'y@example.com' });
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain(`${name}:write`);
  });

  test('nobody hands out what they do not hold', async () => {
    const browser = await signedInWith(service, 'users:read', 'users:write', 'roles:read', 'roles:write');
    const target = await addUser(ctx);
    const page = await (await browser.get(`/dashboard/users/${target.id}/roles`)).text();
    const role = /name="roles:([^"]+)"[^>]*><label[^>]*>administrator/.exec(page)?.[1];
    const version = /name="_version" value="(\d+)"/.exec(page)?.[1] ?? '';
    const answer = await browser.post(`/dashboard/users/${target.id}/roles`, {
      _csrf: csrfOf(page),
      _version: version,
      [`roles:${role}`]: 'on',
    });
    expect(answer.status).toBe(403);
    expect(await answer.text()).toContain('You can’t grant more than you have');
  });

  test('nobody makes a directory of people whom they may not change (attack 43.1506)', async () => {
    const { id } = await addOrganization(ctx);
    const own = ['organizations:read', 'directories:read', 'directories:write'];
    const make = async (...permissions: string[]) => {
      const browser = await signedInWith(service, ...permissions);
      const page = await (await browser.get(`/dashboard/directories/new?organization=${id}`)).text();
      return browser.post('/dashboard/directories', { _csrf: csrfOf(page), organization: id });
    };
    const refused = await make(...own);
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('You can’t grant more than you have')]);
    expect((await make(...own, 'users:write')).status).toBeLessThan(400);
  });
});

describe('forms', () => {
  let browser: Browser;
  let token: string;
  beforeAll(async () => {
    browser = await administrator();
    token = csrfOf(await (await browser.get('/dashboard')).text());
  });

  test.each(creatable)('POST /dashboard/%s without a CSRF token, or from another site: 403', async (name) => {
    expect((await browser.post(`/dashboard/${name}`, { name: 'x' })).status).toBe(403);
    expect((await browser.post(`/dashboard/${name}`, { name: 'x', _csrf: token }, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await browser.post(`/dashboard/${name}`, { name: 'x', _csrf: 'A'.repeat(43) })).status).toBe(403);
  });

  test('mistakes: 422, a summary, what was typed stays', async () => {
    const answer = await browser.submit(
      '/dashboard/users/new',
      { email: 'not an address', first_name: 'Ada', metadata: '{' },
      '/dashboard/users',
    );
    const html = await answer.text();
    expect(answer.status).toBe(422);
    expect(html).toContain('id="error-summary"');
    expect(html).toContain('value="not an address"');
    expect(html).toContain('This is not valid JSON');
    expect(html).toContain('<title>Error: ');
  });

  test('a change on top of another’s change is shown, not made', async () => {
    const user = await addUser(ctx);
    const page = await (await browser.get(`/dashboard/users/${user.id}/edit`)).text();
    const fields = {
      _csrf: csrfOf(page),
      _version: /name="_version" value="(\d+)"/.exec(page)?.[1] ?? '',
      email: user.email,
      email_verified: 'on',
    };
    expect((await browser.post(`/dashboard/users/${user.id}`, { ...fields, first_name: 'First', last_name: 'Lovelace' })).status).toBe(303);
    const late = await browser.post(`/dashboard/users/${user.id}`, { ...fields, first_name: 'Second', last_name: 'Lovelace' });
    const html = await late.text();
    expect(late.status).toBe(409);
    expect(html).toContain('Someone else changed this in the meantime');
    expect(html).toMatch(/First[\s\S]*Second/);
    expect((await findUserByEmailKey(ctx.scope, user.email_key))?.first_name).toBe('First');
  });
});

describe('secrets, keys and deletions want a fresh sign-in', () => {
  test('after ten minutes the password is asked for; wrong ones change nothing', async () => {
    const browser = await administrator();
    const client = await addClient(ctx, { name: 'Old sign-in', first_party: false });
    service.clock.advance(11 * 60_000);
    const path = `/dashboard/clients/${client.id}/rotate_secret`;
    const page = await (await browser.get(path)).text();
    expect(page).toContain('name="current_password"');
    const token = csrfOf(page);
    expect((await browser.post(path, { _csrf: token })).status).toBe(422);
    const wrong = await browser.post(path, { _csrf: token, current_password: 'not it at all' });
    expect([wrong.status, await wrong.text()]).toEqual([422, expect.stringContaining('That isn’t your password')]);
    expect((await browser.post(`/dashboard/clients/${client.id}/delete`, { _csrf: token, confirmation: client.name })).status).toBe(422);
    const right = await browser.post(path, { _csrf: token, current_password: admin.password });
    expect([right.status, await right.text()]).toEqual([200, expect.stringMatching(/id="secret-client_secret"[^>]*>cs_/)]);
    expect(await (await browser.get(path)).text()).not.toContain('name="current_password"');
  });

  test('a secret stands in the answer to its form alone; no log, address or cookie has it', async () => {
    const browser = await administrator();
    const form = await (await browser.get('/dashboard/webhooks/new')).text();
    const fields = {
      _csrf: csrfOf(form),
      _form: /name="_form" value="([^"]+)"/.exec(form)?.[1] ?? '',
      name: 'Once',
      url: 'http://127.0.0.1:8999/hook',
      'events:user.created': 'on',
    };
    const first = await browser.post('/dashboard/webhooks', fields);
    const secret = /whsec_[\w+/=]{40,}/.exec(await first.text())?.[0] ?? 'none';
    expect(first.status).toBe(200);
    expect(first.headers.get('cache-control')).toBe('no-store');
    expect(secret).toMatch(/^whsec_/);
    const second = await browser.post('/dashboard/webhooks', fields);
    expect(second.status).toBe(303);
    const shown = await (await browser.get(second.headers.get('location') ?? '')).text();
    expect(shown).not.toContain(secret);
    expect(shown).toContain(secret.slice(-4));
    expect(service.log.join('\n')).not.toContain(secret);
    expect([...browser.cookies.values()].join(' ')).not.toContain(secret);
  });
});

test('every action is in the audit log, with the user as its actor', async () => {
  const browser = await administrator();
  await browser.submit('/dashboard/roles/new', { name: 'support desk', description: '' }, '/dashboard/roles');
  const html = await (await browser.get('/dashboard/audit_logs?action=role.created')).text();
  expect(html).toContain('Role created by Administrator');
  expect(html).toContain('support desk');
});

test('another environment: its records answer 404, its administrator is nobody here', async () => {
  const other = await addEnvironment(service.deps, 'elsewhere');
  const foreign = await addUser(other);
  const browser = await administrator();
  expect((await browser.get(`/dashboard/users/${foreign.id}`)).status).toBe(404);
  expect((await browser.get(`/dashboard/users/${foreign.id}/roles`)).status).toBe(404);
});

test('after sign-out the pages are gone, and no cache keeps them (attack 17.208)', async () => {
  const browser = await administrator();
  const page = await browser.get('/dashboard/users');
  expect(page.headers.get('cache-control')).toBe('no-store');
  await browser.post('/logout', { _csrf: csrfOf(await page.text()) });
  expect((await browser.get('/dashboard/users')).status).toBe(303);
});
