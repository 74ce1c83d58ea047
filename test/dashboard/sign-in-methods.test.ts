// Sign-in methods of people in the dashboard; the policy with whom it asks; what production is warned of.
import { beforeEach, describe, expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { makeRecoveryCodes } from '../../src/domain/authenticators/enrolment.js';
import { noOrigin } from '../../src/domain/origin.js';
import { rememberBrowser } from '../../src/domain/sessions/remembered-browsers.js';
import { addUserRoles, findRoleByName } from '../../src/db/tables/roles.js';
import { findUser, updateUser, type UserRow } from '../../src/db/tables/users.js';
import { signedInWith } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { link, manage } from '../support/management.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedManagedService();
const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
let user: UserRow;
let totp: string;

const html = async (browser: Browser, path: string) => (await browser.get(path)).text();
const done = (response: Response) => [response.status, response.headers.get('location')];
const reload = async () => (await findUser(ctx.scope, user.id)) as UserRow;
const move = async (user_id: string, name: string) =>
  (await api.create('authenticators', { kind: 'totp', secret, name }, { user: link('user', user_id) }))['id'] as string;

/** A person who holds the role that came with the service. */
async function administrator(): Promise<UserRow> {
  const made = await addUser(ctx);
  const role = await findRoleByName(ctx.scope, 'administrator');
  await addUserRoles(ctx.scope, made.id, [role?.id ?? '']);
  return made;
}

const ctx = contextOf(service);
const api = shared(() => manage(service.url));
const admin = shared(() => signedInWith(service, ...managementPermissions));

beforeEach(async () => {
  user = await addUser(ctx);
  totp = await move(user.id, 'Old phone');
  await makeRecoveryCodes(ctx, user.id, noOrigin);
});

describe('of a person', () => {
  test('are listed on a tab of their own, and never with a secret', async () => {
    const tab = await html(admin, `/dashboard/users/${user.id}/authenticators`);
    for (const words of [
      'Old phone',
      'Authenticator app',
      'Recovery codes',
      '10 left',
      'Multi-factor authentication',
      `/dashboard/authenticators/${totp}`,
    ])
      expect(tab).toContain(words);
    const record = await html(admin, `/dashboard/users/${user.id}`);
    expect(record).toContain('Reset sign-in methods');
    expect(record).toContain('Forget remembered devices');
    const list = await html(admin, '/dashboard/authenticators?kind=totp&status=active');
    expect(list).toContain(user.email);
    expect(tab + record + list).not.toContain(secret);
    const none = await addUser(ctx);
    expect(await html(admin, `/dashboard/users/${none.id}/authenticators`)).toContain('No sign-in methods');
    expect(await html(admin, `/dashboard/users/${none.id}`)).not.toContain('Reset sign-in methods');
  });

  test('are renamed, and removed after a question that says what follows', async () => {
    const path = `/dashboard/authenticators/${totp}`;
    const edit = await html(admin, `${path}/edit`);
    const version = /name="_version" value="(\d+)"/.exec(edit)?.[1] ?? '';
    expect(done(await admin.post(path, { _csrf: csrfOf(edit), _version: version, name: 'Work phone' }))).toEqual([
      303,
      `${path}?done=updated`,
    ]);
    expect(await html(admin, path)).toContain('Work phone');
    expect(await html(admin, `${path}/delete`)).toContain('turns off multi-factor authentication and removes the recovery codes');
    expect(done(await admin.submit(`${path}/delete`, {}))).toEqual([303, `/dashboard/users/${user.id}/authenticators?done=deleted`]);
    expect(await reload()).toMatchObject({ two_step_enabled: false, authenticator_kinds: [] });
  });

  test('are reset, and remembered browsers forgotten, after a question', async () => {
    await rememberBrowser(ctx, { id: 'x'.repeat(43) }, user.id, noOrigin);
    const path = `/dashboard/users/${user.id}`;
    expect(await html(admin, `${path}/forget_devices`)).toContain('ask for the second factor again at the next sign-in');
    expect(done(await admin.submit(`${path}/forget_devices`, {}))).toEqual([303, `${path}/authenticators?done=devices_forgotten`]);
    expect(await ctx.db.knex('devices').where({ user_id: user.id })).toEqual([]);
    expect(await html(admin, `${path}/reset_authenticators`)).toContain('Verify the person’s identity first');
    const reset = await admin.submit(`${path}/reset_authenticators`, {});
    expect(done(reset)).toEqual([303, `${path}/authenticators?done=authenticators_reset`]);
    expect(await html(admin, `${path}/authenticators?done=authenticators_reset`)).toContain('the person was notified by email');
    expect(await reload()).toMatchObject({ two_step_enabled: false, authenticator_kinds: [], recovery_codes_left: 0 });
  });

  test('are shown to whoever may read them, and offered for change to whoever may', async () => {
    const reader = await signedInWith(service, 'users:read', 'authenticators:read');
    expect(await html(reader, `/dashboard/authenticators/${totp}`)).not.toContain('/edit');
    expect((await reader.get(`/dashboard/authenticators/${totp}/delete`)).status).toBe(403);
    const stranger = await signedInWith(service, 'users:read', 'users:write');
    expect((await stranger.get('/dashboard/authenticators')).status).toBe(403);
    expect((await stranger.get(`/dashboard/users/${user.id}/authenticators`)).status).toBe(404);
    expect(await html(stranger, `/dashboard/users/${user.id}`)).not.toContain('Reset sign-in methods');
  });

  test('of an administrator are no clerk’s to reset or remove (attack 25.576)', async () => {
    const root = await administrator();
    const own = await move(root.id, 'Key');
    const clerk = await signedInWith(service, 'users:read', 'users:write', 'authenticators:read', 'authenticators:write');
    for (const path of [
      `/dashboard/users/${root.id}/reset_authenticators`,
      `/dashboard/users/${root.id}/forget_devices`,
      `/dashboard/authenticators/${own}/delete`,
    ]) {
      const refused = await clerk.submit(path, {});
      expect([path, refused.status, await refused.text()]).toEqual([
        path,
        403,
        expect.stringContaining('You can’t grant more than you have.'),
      ]);
    }
    expect(await findUser(ctx.scope, root.id)).toMatchObject({ two_step_enabled: true, authenticator_kinds: ['totp'] });
    await ctx.db.knex('users').where({ id: root.id }).update({ status: 'blocked' });
  });
});

describe('policy', () => {
  const settings = '/dashboard/settings/security';
  /** What else is on its page, as it stands. */
  const protection = {
    password_min_length: '8',
    breached_passwords: 'refuse',
    breached_password_sign_in: 'notify',
    lockout_threshold: '10',
    lockout_lifetime: '15',
    'lockout_lifetime:unit': 'minutes',
  };

  test('says how many people would have to enrol, and is saved on its own', async () => {
    const { people, without } = (await ctx.db
      .knex('users')
      .where({ status: 'active', environment_id: ctx.environment.id })
      .select(
        ctx.db.knex.raw(`count(*)::int as people, (count(*) filter (where not authenticator_kinds && '{passkey,totp}'))::int as without`),
      )
      .first()) as unknown as { people: number; without: number };
    const page = await html(admin, settings);
    expect(page).toContain(`${without} of ${people} people would have to enrol.`);
    const save = (fields: Record<string, string>) => admin.submit(settings, { ...protection, ...fields, _version: /name="_version" value="(\d+)"/.exec(page)?.[1] ?? '' }, settings); // prettier-ignore
    const fields = {
      second_factor_policy: 'optional',
      second_factor_grace_lifetime: '604800',
      management_required_acr: '',
      confirmation_lifetime: '300',
      remember_device_lifetime: '0',
    };
    const wrong = await save({ ...fields, confirmation_lifetime: '0' });
    expect([wrong.status, await wrong.text()]).toEqual([
      422,
      expect.stringMatching(/name="second_factor_grace_lifetime" type="text" inputmode="numeric" value="7"/),
    ]);
    expect(done(await save(fields))).toEqual([303, `${settings}?done=updated`]);
    const { attributes } = (await api.get(`/environments/${ctx.environment.id}`)).body['data'] as { attributes: Record<string, unknown> };
    expect(attributes).toMatchObject({
      second_factor_grace_lifetime: 604_800,
      confirmation_lifetime: 300,
      remember_device_lifetime: 0,
      management_required_acr: null,
    });
  });

  test('is no clerk’s to change, and people are not counted for whoever may not see them', async () => {
    const clerk = await signedInWith(service, 'environments:read', 'environments:write');
    const page = await html(clerk, settings);
    expect(page).not.toContain('would have to enrol');
    const fields = {
      second_factor_policy: 'off',
      second_factor_grace_lifetime: '604800',
      management_required_acr: '',
      confirmation_lifetime: '300',
      remember_device_lifetime: '0',
    };
    const _version = /name="_version" value="(\d+)"/.exec(page)?.[1] ?? '';
    expect((await clerk.post(settings, { ...protection, ...fields, _version, _csrf: csrfOf(page) })).status).toBe(403);
  });
});

describe('in production', () => {
  const kind = async (value: string) => {
    await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ kind: value });
    service.deps.cache.clear();
  };

  test('an administrator without a strong factor is told of on the overview and in the settings, until there is none', async () => {
    const root = await administrator();
    const browser = await signedIn(service, root);
    const words = 'signs in with one factor';
    expect(await html(browser, '/dashboard')).not.toContain(words);
    await kind('production');
    try {
      const page = await html(browser, '/dashboard');
      expect(page).toContain(words);
      expect(page).toContain('<a href="/account/authenticators">Add yours</a>');
      expect(await html(browser, '/dashboard/settings')).toContain(words);
      // Somebody else sees it too, and is not asked to add one.
      expect(await html(admin, '/dashboard')).toContain(words);
      expect(await html(admin, '/dashboard')).not.toContain('/account/authenticators');
      expect(await html(await signedInWith(service, 'clients:read'), '/dashboard')).not.toContain(words);
      await updateUser(ctx.scope, root.id, { authenticator_kinds: ['passkey'] });
      expect(await html(browser, '/dashboard')).not.toContain(words);
    } finally {
      await kind('development');
    }
  });
});

describe('what applications demand', () => {
  test('is chosen in the forms of clients, APIs and connections', async () => {
    const client = await api.create('clients', {
      name: 'Bank',
      redirect_uris: ['https://b.example/cb'],
      required_acr: 'phr',
      max_authentication_age: 300,
    });
    const page = await html(admin, `/dashboard/clients/${client['id']}`);
    expect(page).toContain('Phishing-resistant (passkey)');
    expect(page).toContain('5 minutes');
    const edit = await html(admin, `/dashboard/clients/${client['id']}/edit/sign_in`);
    expect(edit).toMatch(/<option value="phr" selected/);
    const resource = await api.create('api_resources', {
      identifier: 'https://bank.example',
      name: 'Bank',
      required_acr: '2',
    });
    expect(await html(admin, `/dashboard/api_resources/${resource['id']}`)).toContain('Multi-factor');
    expect(await html(admin, `/dashboard/api_resources/${resource['id']}/edit/access`)).toMatch(/<option value="2" selected/);
    const attributes = {
      name: 'corp',
      display_name: 'Corp',
      strategy: 'oidc',
      issuer: 'https://id.corp.example',
      provider_client_id: 'us',
      second_factor: 'asserted',
      trusted_acr_values: ['gold'],
    };
    const connection = await api.create('connections', attributes);
    expect(await html(admin, `/dashboard/connections/${connection['id']}`)).toContain('Unless the provider reports one');
    expect(await html(admin, `/dashboard/connections/${connection['id']}/edit`)).toMatch(/value="asserted" checked/);
  });

  test('a session shows the strength that it reached', async () => {
    const person = await addUser(ctx);
    await new Browser(service.url).login(person.email, password);
    const [session] = (await api.get(`/sessions?filter[user]=${person.id}`)).body['data'] as { id: string }[];
    expect(await html(admin, `/dashboard/sessions/${session?.id}`)).toContain('Single-factor');
  });
});
