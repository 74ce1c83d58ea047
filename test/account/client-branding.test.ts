// Pages and mails on the way to a client look as its branding says; elsewhere they look like the environment.
import { expect, test } from 'vitest';
import { Browser, pkcePair } from '../support/browser.js';
import { addClient, addUser } from '../support/data.js';
import { lastMailTo } from '../support/mailbox.js';
import { addOrganization, changeRow } from '../support/organizations.js';
import { shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const redirect_uri = 'https://notes.example/cb';
const branding = {
  name: 'Acme Notes',
  logo_url: 'https://notes.example/logo.svg',
  primary_color: '#b3261e',
  support_email: 'notes@acme.example',
};
const client = shared(async () =>
  addClient(await service.context(), { redirect_uris: [redirect_uri], branding, tos_uri: 'https://notes.example/terms' }),
);

/** Where the client sends a browser that is not signed in: the sign-in page's address. */
async function arrive(browser: Browser, { id } = client, more: Record<string, string> = {}): Promise<string> {
  const query = new URLSearchParams({ client_id: id, redirect_uri, response_type: 'code', scope: 'openid', state: 's', code_challenge: pkcePair().challenge, code_challenge_method: 'S256', ...more }); // prettier-ignore
  const answer = await browser.get(`/oauth/authorize?${query}`);
  return answer.headers.get('location') ?? '';
}
const pageOf = async (browser: Browser, path: string) => (await browser.get(path)).text();

const looksLikeNotes = (page: string) => {
  expect(page).toContain('<img class="brand-logo" src="https://notes.example/logo.svg" alt="Acme Notes"');
  expect(page).toContain('/assets/accent/b3261e.css');
  expect(page).toContain('mailto:notes@acme.example');
};

test('sign-in, registration and recovery on the way to it, each step of them; not without it', async () => {
  const browser = new Browser(service.url);
  const login = await arrive(browser);
  const page = await pageOf(browser, login);
  looksLikeNotes(page);
  expect(page).toContain('href="https://notes.example/terms"');
  const query = login.slice(login.indexOf('?'));
  looksLikeNotes(await pageOf(browser, `/register${query}`));
  const forgot = await pageOf(browser, `/password/forgot${query}`);
  looksLikeNotes(forgot);
  expect(forgot).toMatch(/You’ll continue to\s*<strong>.*?<\/strong>/);
  expect(await pageOf(browser, '/password/forgot')).not.toContain('afterwards');
  // What a form of the sign-in answers, too.
  const return_to = new URLSearchParams(query).get('return_to') ?? '';
  looksLikeNotes(await (await browser.submit(login, { email: 'nobody@example.com', password: 'wrong', return_to }, '/login')).text());
  expect(await pageOf(browser, '/login')).not.toContain('Acme Notes');
});

test('the mail with the code of a registration on the way to it; and of one that is not', async () => {
  const browser = new Browser(service.url);
  const return_to = new URL(await arrive(browser), service.url).searchParams.get('return_to') ?? '';
  expect((await browser.postJson('/register', { email: 'branded@example.com', return_to })).status).toBe(202);
  const mail = await lastMailTo(service.url, 'branded@example.com');
  expect(mail.text).toContain('at Acme Notes:');
  expect(mail.text).toContain('notes@acme.example');
  expect((await browser.postJson('/register', { email: 'plain@example.com' })).status).toBe(202);
  expect((await lastMailTo(service.url, 'plain@example.com')).text).not.toContain('Acme Notes');
});

test('a sign-in for an organization, its pages and its mails, looks like the organization (specification 16.2.11)', async () => {
  const ctx = await service.context();
  const acme = await addOrganization(ctx, {
    display_name: 'Acme Corporation',
    branding: { name: null, logo_url: 'https://acme.example/logo.png', primary_color: '#0b6b3a', font: 'serif' },
  });
  const allowing = await addClient(ctx, { redirect_uris: [redirect_uri], branding, organization_usage: 'allow' });
  const browser = new Browser(service.url);
  const login = await arrive(browser, allowing, { organization: acme.name });
  const page = await pageOf(browser, login);
  for (const text of ['src="https://acme.example/logo.png" alt="Acme Corporation"', '0b6b3a']) expect(page).toContain(text);
  const return_to = new URL(login, service.url).searchParams.get('return_to') ?? '';
  await browser.postJson('/register', { email: 'member@example.com', return_to });
  const mail = await lastMailTo(service.url, 'member@example.com');
  expect(mail.text).toContain('at Acme Corporation:');
  for (const text of ['https://acme.example/logo.png', '#0b6b3a', 'serif']) expect(mail.html).toContain(text);
  expect(mail.text).not.toContain('Notes');
  // Once it is disabled nothing looks like it.
  await changeRow(ctx, 'organizations', { id: acme.id }, { status: 'disabled' });
  await browser.postJson('/register', { email: 'late@example.com', return_to });
  expect((await lastMailTo(service.url, 'late@example.com')).text).toContain('at Acme Notes:');
});

test('consent and sign-out', async () => {
  const user = await addUser(await service.context());
  const browser = await signedIn(service, user);
  const third = await addClient(await service.context(), { redirect_uris: [redirect_uri], branding, first_party: false });
  const answer = await arrive(browser, third);
  looksLikeNotes(await pageOf(browser, answer === '' ? `/oauth/authorize?${new URLSearchParams({ client_id: third.id, redirect_uri, response_type: 'code', scope: 'openid', code_challenge: pkcePair().challenge, code_challenge_method: 'S256' })}` : answer)); // prettier-ignore
  looksLikeNotes(await pageOf(browser, `/oauth/logout?client_id=${third.id}`));
});

test('of a client that nobody vouches for the pages look like the environment (attack 30.768)', async () => {
  const stranger = await addClient(await service.context(), { redirect_uris: [redirect_uri], branding, verified: false });
  const browser = new Browser(service.url);
  expect(await pageOf(browser, await arrive(browser, stranger))).not.toMatch(/notes\.example\/logo|b3261e|notes@acme/);
});

test('the pages of developers look like the environment, whatever stands in their address', async () => {
  const browser = new Browser(service.url);
  const query = (await arrive(browser)).replace(/^[^?]*/, '');
  looksLikeNotes(await pageOf(browser, `/login${query}`));
  expect(await pageOf(browser, `/${query}`)).not.toContain('Acme Notes');
});
