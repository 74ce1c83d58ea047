// Signing in to the command line as a person, in a browser on the machine or elsewhere.
import { readFile, stat, chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createProgram } from '../../src/programs/cli/program.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf, type Browser } from '../support/browser.js';
import { answerDevice } from '../support/device.js';
import { manage } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';
import { directoryOfTest } from '../support/temporary-directory.js';

const service = sharedManagedService();
let home: string;

beforeEach(() => {
  home = directoryOfTest();
});

const fileOf = (profile = 'default') => join(home, 'idp/profiles', `${profile}.json`);
const stored = async (profile?: string) => JSON.parse(await readFile(fileOf(profile), 'utf8')) as Record<string, string>;

/** Runs a command at the service; `seen` is told of each line. */
async function run(
  words: readonly string[],
  seen: (line: string) => void = () => {},
  url: readonly string[] = ['--url', service.url],
): Promise<string> {
  const printed: string[] = [];
  const print = (text: string) => {
    printed.push(text);
    seen(text);
  };
  await createProgram(print, { exit: () => undefined, variables: { XDG_CONFIG_HOME: home } })
    .configureOutput({ writeErr: () => undefined })
    .parseAsync([...url, ...words], { from: 'user' });
  return printed.join('\n');
}

/** Opens the address that a login prints, and answers what is asked there. */
async function answer(browser: Browser, address: string, decision = 'allow'): Promise<Response> {
  const html = await (await browser.get(address)).text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1];
  if (request === undefined) throw new Error(`no consent page: ${html}`);
  const { headers } = await browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision });
  return fetch(headers.get('location') ?? '');
}

/** Signs in by the browser. `between` happens when the address is known. */
async function login(
  browser: Browser,
  words: readonly string[] = [],
  decision = 'allow',
  between: (address: URL) => Promise<void> = async () => {},
) {
  let answered: Promise<Response> | null = null;
  const said = await run([...words, 'login', '--no-browser'], (line) => {
    const address = /^Sign in at (\S+)$/.exec(line)?.[1];
    if (address) answered = between(new URL(address)).then(() => answer(browser, address, decision));
  });
  expect((await (answered as unknown as Promise<Response>)).status).toBe(200);
  return said;
}

describe('login in the browser', () => {
  test('gives the commands that follow what the person may do, and no more (specification 15.12.2)', async () => {
    const browser = await signedInWith(service, 'roles:read');
    expect(await login(browser)).toMatch(/as profile default, with 1 permission$/);
    expect(await run(['roles', 'list', '--filter', 'search=administrator'])).toContain('administrator');
    await expect(run(['users', 'list'])).rejects.toThrow('insufficient_scope');
    expect((await stat(fileOf())).mode & 0o777).toBe(0o600);
    // The profile knows where it is.
    vi.stubEnv('BASE_URL', undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await run(['--profile', 'default', 'roles', 'list', '--limit', '1'], undefined, [])).toContain('id');
  });

  test('is asked about every time; a no is told (attack 48.1483)', async () => {
    const browser = await signedInWith(service, 'roles:read');
    await login(browser);
    await login(browser);
    await expect(login(browser, [], 'deny')).rejects.toThrow('access_denied');
  });

  test('is not ended by what others send to its port: another state, path or method (attack 48.1484)', async () => {
    const browser = await signedInWith(service, 'roles:read');
    const said = await login(browser, ['--profile', 'other'], 'allow', async (address) => {
      const redirect = new URL(address.searchParams.get('redirect_uri') ?? '');
      for (const query of ['?code=x', '?code=x&state=y', '?error=access_denied'])
        expect((await fetch(`${redirect}${query}`)).status).toBe(400);
      const state = address.searchParams.get('state');
      expect((await fetch(`${redirect}?code=x&state=${state}`, { method: 'POST' })).status).toBe(400);
      expect((await fetch(`${redirect.origin}/?code=x&state=${state}`)).status).toBe(400);
    });
    expect(said).toContain('as profile other');
  });

  test('is refreshed when the token has run out, and says so when that is over', async () => {
    const browser = await signedInWith(service, 'roles:read');
    await login(browser);
    const before = await stored();
    await writeFile(fileOf(), JSON.stringify({ ...before, expires_at: '2020-01-01T00:00:00.000Z' }), { mode: 0o600 });
    await run(['roles', 'list', '--limit', '1']);
    const after = await stored();
    expect([after['access_token'] === before['access_token'], after['refresh_token'] === before['refresh_token']]).toEqual([false, false]);
    const api = await manage(service.url);
    await api.patch('/clients/idp-cli/revoke_tokens');
    await expect(run(['roles', 'list'])).rejects.toThrow('idp login');
    await expect(stored()).rejects.toThrow('ENOENT');
  });

  test('its token goes nowhere but where it came from, and a file that others can read counts for nothing (attack 48.1485)', async () => {
    await login(await signedInWith(service, 'roles:read'));
    await expect(run(['--profile', 'default', 'roles', 'list'], undefined, ['--url', 'http://127.0.0.1:9'])).rejects.toThrow(
      'not at http://127.0.0.1:9',
    );
    await expect(run(['login', '--no-browser'], undefined, ['--url', 'http://idp.example'])).rejects.toThrow(
      'neither https nor on this machine',
    );
    await chmod(fileOf(), 0o644);
    await expect(run(['roles', 'list'])).rejects.toThrow('chmod 600');
  });
});

test('login on a device without a browser: a code is typed elsewhere (RFC 8628)', async () => {
  const browser = await signedInWith(service, 'roles:read');
  let answered: Promise<Response> | null = null;
  const said = await run(['login', '--device'], (line) => {
    const code = /type (\S+)$/.exec(line)?.[1];
    if (code) answered = answerDevice(browser, code);
  });
  expect((await (answered as unknown as Promise<Response>)).status).toBeLessThan(400);
  expect(said).toContain('Signed in at');
  expect(await run(['roles', 'list', '--limit', '1'])).toContain('id');
});

test('logout ends what the sign-in was given, and forgets it', async () => {
  await login(await signedInWith(service, 'roles:read'));
  const { refresh_token = '' } = await stored();
  expect(await run(['logout'])).toContain('Signed out');
  const refreshed = await fetch(`${service.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', client_id: 'idp-cli', refresh_token }),
  });
  expect(refreshed.status).toBe(400);
  await expect(run(['logout'])).rejects.toThrow('nobody is signed in');
  await expect(run(['--profile', '../../x', 'roles', 'list'])).rejects.toThrow('no name of a profile');
});
