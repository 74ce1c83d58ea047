// A SAML application in a browser: it is set up in the dashboard, and people come to it with scripts and without.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { administratorsPage, look } from '../support/administrators-page.js';
import { picture, sharedChromium, signInAt } from '../support/chromium.js';
import { addUser, password } from '../support/data.js';
import { needs } from '../support/programs.js';
import { addSamlClient, deflated, requestXml } from '../support/saml-application.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const test = needs('chromium');
const browser = sharedChromium();
const service = sharedService();
const ctx = contextOf(service);
let page: Page;
let application: Server;
let acs: string;

beforeAll(async () => {
  ({ page } = await administratorsPage(browser, ctx));
  application = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString()));
    req.on('end', () => {
      const sent = new URLSearchParams(body);
      const isAssertion = Buffer.from(sent.get('SAMLResponse') ?? '', 'base64')
        .toString()
        .includes('<saml:Assertion');
      res.end(`${req.method} ${isAssertion} ${sent.get('RelayState')}`);
    });
  });
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
  acs = `http://127.0.0.1:${(application.address() as AddressInfo).port}/acs`;
});
afterAll(async () => {
  await page?.context().close();
  application?.close();
});

test('an administrator makes one, and is told what it has to be told (specification 16.8.1)', async () => {
  await page.goto(`${service.url}/dashboard/clients/new`);
  await page.getByRole('link', { name: 'SAML application' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Wiki');
  await page.getByLabel('Entity ID').fill('https://wiki.example/saml');
  await page.getByRole('textbox', { name: 'Assertion consumer service URLs' }).first().fill('https://wiki.example/acs');
  await page.getByText('More settings').click();
  await look(page, 'saml-client-new');
  await page.getByRole('button', { name: 'Create client' }).click();
  await page.getByText('Values to copy').waitFor();
  const text = (await page.locator('main').textContent()) ?? '';
  expect(text).toContain(`${service.url}/saml/metadata`);
  expect(text).toContain(`${service.url}/saml/sso`);
  expect(text).toContain('BEGIN CERTIFICATE');
  await look(page, 'saml-client-created');
  const id = /clients\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
  await page.goto(`${service.url}/dashboard/clients/${id}`);
  await look(page, 'saml-client');
  await page.goto(`${service.url}/dashboard/clients/${id}/edit`);
  expect(await page.getByRole('link', { name: 'Tokens' }).count()).toBe(0);
  await page.getByRole('textbox', { name: 'Attributes' }).fill('{"mail": "email"}');
  await look(page, 'saml-client-edit');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.waitForURL('**done=updated');
  await page.goto(`${service.url}/dashboard/saml_certificates`);
  await look(page, 'saml-certificates');
});

test('somebody comes to it by a script, and without scripts by the button (specification 16.8.4)', async () => {
  const user = await addUser(ctx, { email_verified: true });
  const client = await addSamlClient(ctx, { saml_acs_urls: [acs] });
  const query = new URLSearchParams({ SAMLRequest: deflated(requestXml(client)), RelayState: 'deep' }).toString();
  for (const javaScriptEnabled of [true, false]) {
    const context = await browser.newContext({ javaScriptEnabled });
    const person = await context.newPage();
    await signInAt(person, service.url, user.email, password);
    await person.waitForURL('**/account');
    await person.goto(`${service.url}/saml/sso?${query}`);
    if (!javaScriptEnabled) {
      await picture(person, 'saml-post');
      await person.getByRole('button', { name: 'Continue' }).click();
    }
    await person.waitForURL(acs);
    expect(await person.locator('body').textContent()).toBe('POST true deep');
    await context.close();
  }
});
