// Durations as a number and a unit, colours and lists, and the preview of branding: what is posted without any script.
import { beforeAll, describe, expect, test } from 'vitest';
import { findApiResourceByIdentifier } from '../../src/db/tables/api_resources.js';
import { listPermissionsOfResource } from '../../src/db/tables/permissions.js';
import { signedInWith } from '../support/administrators.js';
import type { Browser } from '../support/browser.js';
import { addClient } from '../support/data.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();
let browser: Browser;
beforeAll(async () => {
  const ctx = await service.context();
  const api = await findApiResourceByIdentifier(ctx.scope, ctx.environment.management_audience);
  const everything = await listPermissionsOfResource(ctx.scope, api?.id ?? '');
  browser = await signedInWith(service, ...everything.map(({ name }) => name));
});

const environment = async () => (await service.context()).environment;
const html = async (path: string) => (await browser.get(path)).text();

/** What the browser would send of a form as it stands. */
function entriesOf(form: string): Record<string, string> {
  const of = (tag: string, name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];
  const inputs = [...form.matchAll(/<input [^>]*>/g)].map(([tag]) => tag);
  const sent = inputs.filter((tag) => !/type="(checkbox|radio)"/.test(tag) || / checked/.test(tag));
  const texts = sent.map((tag): [string, string] => [of(tag, 'name') ?? '', of(tag, 'value') ?? '']);
  const areas = [...form.matchAll(/<textarea [^>]*?name="([^"]+)"[^>]*>\n?([^<]*)/g)].map(([, name = '', text = '']): [string, string] => [
    name,
    text,
  ]);
  const selects = [...form.matchAll(/<select [^>]*?name="([^"]+)"[\s\S]*?<\/select>/g)].map(([tag, name = '']): [string, string] => [
    name,
    /value="([^"]*)" selected/.exec(tag)?.[1] ?? of(tag, 'value') ?? '',
  ]);
  return Object.fromEntries([...texts, ...areas, ...selects]);
}

/** Submits a form of the page as it stands, but for these fields. */
async function change(page: string, form: string, fields: Record<string, string>) {
  const shown = new RegExp(`<form id="${form}"[\\s\\S]*?</form>`).exec(await html(page))?.[0] ?? '';
  return browser.post(/action="([^"]+)"/.exec(shown)?.[1] ?? '', { ...entriesOf(shown), ...fields });
}
const save = (fields: Record<string, string>) => change('/dashboard/settings/sign_in', 'sign_in', fields);

describe('durations', () => {
  test('are shown in the largest unit that fits, and saved in the one that is chosen', async () => {
    const page = await html('/dashboard/settings/tokens');
    expect(page).toMatch(/name="session_lifetime"[^>]*value="30"/);
    expect(page).toMatch(/name="session_lifetime:unit"[^>]*>[\s\S]*?<option value="days" selected>/);
    expect((await save({ otp_lifetime: '20', 'otp_lifetime:unit': 'minutes', otp_max_attempts: '5' })).status).toBe(303);
    expect((await environment()).otp_lifetime).toBe(1200);
  });

  test('beyond the bound is told beside the field, with what was typed', async () => {
    const answer = await save({ otp_lifetime: '3', 'otp_lifetime:unit': 'days', otp_max_attempts: '5' });
    const page = await answer.text();
    expect(answer.status).toBe(422);
    expect(page).toMatch(/name="otp_lifetime"[^>]*value="3"/);
    expect(page).toContain('Enter at most 1 hour.');
  });

  test('that are no number are told', async () => {
    const answer = await save({ otp_lifetime: 'soon', 'otp_lifetime:unit': 'days', otp_max_attempts: '5' });
    expect([answer.status, (await answer.text()).includes('Enter a whole number.')]).toEqual([422, true]);
  });
});

describe('the preview of branding', () => {
  const path = '/dashboard/branding_preview';

  test('is the sign-in page as the form has it; only pages of ours may show it, and nothing on it runs', async () => {
    const answer = await browser.get(`${path}?name=Acme+Corp&primary_color=%23b3261e&logo_url=https://acme.example/logo.svg`);
    const page = await answer.text();
    expect(page).toContain('alt="Acme Corp"');
    expect(page).toContain('/assets/accent/b3261e.scheme-light.css');
    expect(page).not.toContain('<script');
    expect(answer.headers.get('x-frame-options')).toBe('SAMEORIGIN');
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'self'");
  });

  test('is a mail or the error page too, in the scheme that is asked for (specification 9.2.10)', async () => {
    const looks =
      'name=Acme&background_color=%23dbeafe&dark_background_color=%23312e81&corner_radius=3&font=serif&dark_logo_url=https://acme.example/d.png';
    const dark = await html(`${path}?${looks}&page=error&scheme=dark`);
    expect(dark).toContain('Something went wrong');
    expect(dark).toContain('.ground-dbeafe.night-312e81.radius-3.font-serif.scheme-dark.css');
    expect(dark).toContain('<img class="brand-logo" src="https://acme.example/d.png"');
    const light = await html(`${path}?${looks}&page=error`);
    expect(light).not.toContain('https://acme.example/d.png');
    const mail = await browser.get(`${path}?${looks}&page=mail&scheme=dark`);
    expect(mail.headers.get('content-security-policy')).toContain('sandbox');
    expect(await mail.text()).toMatch(/@media all \{\s*body \{ background: #312e81/);
    expect(await html(`${path}?${looks}&page=mail&client=Notes`)).toContain('@media not all {');
    expect(await html(`${path}?name=Acme&corner_radius=999&font=comic&page=none`)).toContain('/assets/accent/2b5fc7.scheme-light.css');
  });

  test('leaves out what isn’t valid, and shows markup as text', async () => {
    const page = await html(`${path}?name=${encodeURIComponent('<b>Acme</b>')}&primary_color=red&logo_url=javascript:alert(1)&client=<i>`);
    expect(page).toContain('&lt;b&gt;Acme&lt;/b&gt;');
    expect(page).not.toMatch(/<b>|<i>|javascript:/);
    expect(page).toContain('/assets/accent/2b5fc7.scheme-light.css');
  });

  test('is for those who are signed in to the dashboard', async () =>
    expect((await fetch(service.url + path, { redirect: 'manual' })).status).toBe(303));

  test('other pages still stand in no frame', async () => {
    const login = await fetch(`${service.url}/login`);
    expect(login.headers.get('x-frame-options')).toBe('DENY');
    expect(login.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });
});

test('a client’s branding is saved from its form; emptied members go', async () => {
  const client = await addClient(await service.context(), { name: 'Notes' });
  const save = (fields: Record<string, string>) => change(`/dashboard/clients/${client.id}/edit/branding`, 'edit', fields);
  expect((await save({ 'branding.name': 'Acme Notes', 'branding.primary_color': '#445566' })).status).toBe(303);
  const stored = async () => (await service.deps.db.knex('clients').where({ id: client.id }).first()).branding as unknown;
  expect(await stored()).toEqual({ name: 'Acme Notes', primary_color: '#445566' });
  expect((await save({ 'branding.name': '' })).status).toBe(303);
  expect(await stored()).toEqual({ primary_color: '#445566' });
  const refused = await save({ 'branding.primary_color': 'red' });
  expect([refused.status, (await refused.text()).includes('This must look like #1a2b3c.')]).toEqual([422, true]);
});
