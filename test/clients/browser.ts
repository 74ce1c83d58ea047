// The person's part, in a real browser: cookies, redirects and policies are a browser's own.
import { strict as assert } from 'node:assert';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { eventually } from '../support/webhooks.js';
import { person } from './service.js';

const patienceMs = 60_000;

async function enterPassword(page: Page): Promise<void> {
  await page.getByLabel('Email address').fill(person.email);
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

const showsPerson = (page: Page) => page.getByText(person.name).first().waitFor({ timeout: patienceMs });

/** Presses on, through pages of the framework such as "Sign in with Example", until the service asks for the password. */
async function begin(page: Page, issuer: string): Promise<void> {
  for (let step = 0; step < 4 && !page.url().startsWith(issuer); step++) {
    const before = page.url();
    await page.getByRole('link', { name: /sign in|log in|example/i }).or(page.getByRole('button', { name: /sign in|log in/i })).first().click(); // prettier-ignore
    await page.waitForURL((url) => url.href !== before, { timeout: patienceMs });
  }
}

/** Some frameworks ask once more, on a page of their own, and the service does without an ID token; then the application begins anew. */
async function confirmed(page: Page, urls: readonly string[]): Promise<void> {
  const start = page.getByRole('link', { name: /sign in|log in/i }).or(page.getByRole('button', { name: /sign in|log in/i })).first(); // prettier-ignore
  const sure = page.getByRole('button', { name: /sign out|log out/i }).first();
  await eventually(async () => {
    if (await start.isVisible()) return true;
    const isAsked = urls.some((url) => page.url().startsWith(url)) && /(log|sign)-?out/i.test(page.url());
    if (isAsked && (await sure.isVisible())) await sure.click();
    return false;
  }, patienceMs);
}

/** What a person does with an application, and how it knows that it worked. */
export type Visit = {
  /** `provider`: signing out ends the session at the provider too. `application`: the framework ends its own alone. */
  readonly signOut: 'provider' | 'application';
  /** Whether the password is asked for by the application's own form. */
  readonly ownForm?: true;
  /** A page that shows, once signed in, what the application got from an API with a token of its own: the client's id. */
  readonly callsApi?: string;
  /** The name of the application's cookie, to be seen beside the service's: on localhost both are sent to both, whatever the port. */
  readonly cookie?: string;
};

/** The application's cookie and the service's are both there; neither took the other's place. */
async function livesBeside(context: BrowserContext, cookie: string): Promise<void> {
  const names = (await context.cookies()).map(({ name }) => name);
  for (const name of [cookie, 'idp_session']) assert.ok(names.includes(name), `no cookie ${name} among ${names.join(', ')}`);
}

/** A browser of somebody new, who trusts the certificate that a service on https made for itself. */
const newPerson = (browser: Browser) => browser.newContext({ ignoreHTTPSErrors: true });

/** Opens the address that a command prints, and signs in. */
export async function open(browser: Browser, address: string): Promise<string> {
  const context = await newPerson(browser);
  const page = await context.newPage();
  try {
    await page.goto(address);
    await enterPassword(page);
    await page.getByText('You are signed in.').waitFor({ timeout: patienceMs });
    return await page.innerText('body');
  } finally {
    await context.close();
  }
}

/** Opens the address that a device prints, signs in, sends the code off that is in it, and allows what the device asks for. */
export async function allowDevice(browser: Browser, address: string): Promise<string> {
  const context = await newPerson(browser);
  const page = await context.newPage();
  try {
    await page.goto(address);
    await enterPassword(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'The device is connected' }).waitFor({ timeout: patienceMs });
    return await page.innerText('body');
  } finally {
    await context.close();
  }
}

/** Signs in with the password, reads the name, signs out; where that ends the session at the provider, the password is asked for anew. */
export async function visit(
  browser: Browser,
  issuer: string,
  url: string,
  { signOut, ownForm, callsApi, cookie }: Visit,
  clientId = '',
): Promise<void> {
  const context = await newPerson(browser);
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  try {
    await page.goto(url);
    if (!ownForm) await begin(page, issuer);
    await enterPassword(page);
    await showsPerson(page);
    await page.getByText(person.email).first().waitFor();
    if (cookie !== undefined) await livesBeside(context, cookie);
    if (callsApi !== undefined) {
      await page.goto(new URL(callsApi, url).href);
      await page.getByText(clientId).waitFor();
      await page.goto(url);
    }
    await page.getByRole('link', { name: /sign out|log out/i }).or(page.getByRole('button', { name: /sign out|log out/i })).first().click(); // prettier-ignore
    await confirmed(page, [url, issuer]);
    if (signOut === 'application') return;
    await begin(page, issuer);
    await page.getByLabel('Email address').waitFor();
  } catch (error) {
    const shown = (await page.innerText('body').catch(() => '')).slice(0, 600);
    throw new Error(`at ${page.url()}\n${shown}\n${String(error)}`, { cause: error });
  } finally {
    await context.close();
  }
}
