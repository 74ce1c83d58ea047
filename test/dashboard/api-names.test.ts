// The names of attributes in the API, beside their labels: for those who want them.
import { beforeAll, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { addClient } from '../support/data.js';
import { shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const path = '/dashboard/preferences/api_names';
let client: string;
const browser = shared(() => signedInWith(service, 'clients:read', 'clients:write'));

beforeAll(async () => {
  client = `/dashboard/clients/${(await addClient(await service.context(), { name: 'Notes', first_party: false })).id}`;
});

const html = async (at: string) => (await browser.get(at)).text();
const choose = async (shown: string, return_to: string) => browser.post(path, { _csrf: csrfOf(await html(client)), shown, return_to });
const names = ['<code class="attribute">redirect_uris</code>', '<code class="attribute">name</code>'];

test('labels have none at first; the switch shows them on every page, until it is switched off (specification 9.1.10)', async () => {
  const edit = `${client}/edit`;
  for (const at of [client, edit]) {
    const page = await html(at);
    expect(page).not.toContain('class="attribute"');
    expect(page).toContain('role="switch" aria-checked="false"');
  }
  const shown = await choose('on', edit);
  expect([shown.status, shown.headers.get('location')]).toEqual([303, edit]);
  expect(shown.headers.get('set-cookie')).toMatch(/^idp_dashboard_api_names=on; Max-Age=31536000;/);
  expect(await html(client)).toContain(names[0]);
  for (const name of names) expect(await html(edit)).toContain(name);
  expect(await html(edit)).toContain('role="switch" aria-checked="true"');
  expect((await choose('', client)).headers.get('location')).toBe(client);
  expect(await html(edit)).not.toContain('class="attribute"');
});

test('it leads to pages of ours only, and takes the token of one (attack 17.1161)', async () => {
  for (const elsewhere of ['https://evil.example/', '//evil.example', '/\\evil.example', 'javascript:alert(1)', ''])
    expect((await choose('', elsewhere)).headers.get('location')).toBe('/dashboard');
  const forged = await browser.post(path, { _csrf: 'made up', shown: 'on', return_to: client });
  expect([forged.status, forged.headers.get('set-cookie')]).toEqual([403, null]);
  const stranger = await fetch(service.url + path, { method: 'POST', redirect: 'manual', body: new URLSearchParams({ shown: 'on' }) });
  expect(stranger.headers.get('set-cookie') ?? '').not.toContain('api_names');
});
