// examples/business-customers: set up, then used by an administrator of two organizations and by somebody who is invited.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { Browser } from '../../support/browser.js';
import { addUser } from '../../support/data.js';
import { formValues } from '../../support/dashboard-forms.js';
import { invitationPath } from '../../support/invitations.js';
import { open } from '../../support/journey.js';
import { managementClient } from '../../support/management.js';
import { freePort } from '../../support/service.js';
import { sharedManagedService } from '../../support/shared-service.js';
import { signedIn } from '../../support/signed-in.js';

const service = sharedManagedService();

/** Sets the application up and starts it; the settings that the first prints are those of the second. */
async function started(admin_email: string): Promise<{ home: string; stop: () => void }> {
  const home = `http://localhost:${await freePort()}`;
  const env = {
    PATH: process.env['PATH'],
    ISSUER: service.url,
    APP_URL: home,
    MANAGEMENT_CLIENT_ID: managementClient.id,
    MANAGEMENT_CLIENT_SECRET: managementClient.client_secret,
    ADMIN_EMAIL: admin_email,
  };
  const { stdout } = await promisify(execFile)(process.execPath, ['examples/business-customers/setup.js'], { env });
  const printed = Object.fromEntries(stdout.trim().split('\n').map((line) => line.split(/=(.*)/s) as [string, string])); // prettier-ignore
  const app = spawn(process.execPath, ['examples/business-customers/server.js'], {
    env: { PATH: env.PATH, ...printed },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(app.stdout, 'data');
  return { home, stop: () => void app.kill('SIGTERM') };
}

/** The page of the application, once its access to the Management API is allowed. */
async function allowed(account: Browser, visitor: Browser, address: URL): Promise<{ url: URL; text: string }> {
  const asked = await open([account, visitor], address);
  if (!asked.text.includes('Allow Documents to access your account?')) return asked;
  const answer = await account.post('/oauth/consent', { ...formValues(asked.text), decision: 'allow' });
  return open([account, visitor], new URL(answer.headers.get('location') as string, service.url));
}

test('an administrator chooses, switches silently, sees members and invites somebody, who then is one', async () => {
  const ctx = await service.context();
  const admin = await addUser(ctx, { email: 'ada@acme.example', first_name: 'Ada' });
  const app = await started('ada@acme.example');
  try {
    const [account, visitor] = [await signedIn(service, admin), new Browser(app.home)];
    const browsers = [account, visitor];
    const chooser = await open(browsers, new URL('/login', app.home));
    expect([chooser.url.origin, chooser.text.includes('Acme'), chooser.text.includes('Globex')]).toEqual([service.url, true, true]);
    expect((await open(browsers, new URL('/login?organization=acme', app.home))).text).toContain('Your roles here: organization_admin');
    const globex = await open(browsers, new URL('/login?organization=globex', app.home));
    expect(globex.text).toContain('<h1>Globex</h1>');
    const [, back = ''] = /href="(\/switch\?organization=[^"]+)"/.exec(globex.text) ?? [];
    expect((await open(browsers, new URL(back, app.home))).text).toContain('<h1>Acme</h1>');

    const acme = await allowed(account, visitor, new URL('/members', app.home));
    expect(acme.text).toContain('ada@acme.example');
    const role = /value="([^"]+)">editor</.exec(acme.text)?.[1] ?? '';
    expect((await visitor.post('/invite', { email: 'lena@elsewhere.example', role })).status).toBe(303);
    expect(await (await visitor.get('/')).text()).toContain('Invitation pending');

    const lena = await signedIn(service, await addUser(ctx, { email: 'lena@elsewhere.example' }));
    const path = await invitationPath(service.url, 'lena@elsewhere.example');
    const accepted = await lena.submit(path, {});
    expect([accepted.status, accepted.headers.get('location')]).toEqual([303, expect.stringContaining(`${app.home}/login`)]);
    const hers = new Browser(app.home);
    const first = await open([lena, hers], new URL(accepted.headers.get('location') as string));
    expect(first.text).toContain('Your roles here: editor');
    const members = await allowed(lena, hers, new URL('/members', app.home));
    expect([members.text.includes('Invite someone'), members.text.includes('ada@acme.example')]).toEqual([false, false]);

    const foreign = await visitor.post('/invite', { email: 'x@y.example' }, { origin: 'https://elsewhere.example' });
    expect(foreign.status).toBe(403);
  } finally {
    app.stop();
  }
});
