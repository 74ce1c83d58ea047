// What an administrator does most, with what it takes counted: clicks by mouse on a desk and on a phone, Enter and Space by keyboard. Typing isn't counted.
import { writeFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { flushSecurityTrail } from '../../src/domain/audit/security-trail.js';
import { administratorsPage } from '../support/administrators-page.js';
import { Browser } from '../support/browser.js';
import { picture, sharedChromium } from '../support/chromium.js';
import { addClient, addGrant, addResource, addUser, password } from '../support/data.js';
import { png } from '../support/images.js';
import { Keyboard } from '../support/keyboard.js';
import { tokenRequest } from '../support/oauth.js';
import { needs } from '../support/programs.js';
import { freePort, startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { addWebhook, emitRoles, quick, settledDeliveries } from '../support/webhooks.js';

const test = needs('chromium');
const browser = sharedChromium();
const service = sharedService(() => startTestService(quick));
const ctx = contextOf(service);
const logo = join(mkdtempSync(join(tmpdir(), 'logo-')), 'logo.png');
let token = '';

/** Somebody with a mouse, or a finger, or a keyboard; counts what they press. */
class Hand {
  pressed = 0;
  readonly #keys: Keyboard | null;

  constructor(
    readonly page: Page,
    how: 'mouse' | 'keyboard',
  ) {
    this.#keys = how === 'keyboard' ? new Keyboard(page) : null;
  }

  async press(target: Locator): Promise<void> {
    this.pressed += 1;
    await target.first().waitFor();
    if (!this.#keys) return target.first().click();
    if (!(await this.#keys.has(target))) await this.#keys.to(target);
    await this.page.keyboard.press('Enter');
  }

  /** The field that the page has put the focus in, or that is pressed first. */
  async write(field: Locator, text: string): Promise<void> {
    if (!(await field.first().evaluate((one) => one === one.ownerDocument.activeElement))) {
      if (this.#keys) await this.#keys.to(field);
      else await this.press(field);
    }
    await this.page.keyboard.insertText(text);
  }

  /** Any part of what it is called, in the field of every page. */
  async find(text: string, name: string): Promise<void> {
    const field = this.page.getByRole('searchbox', { name: 'Find anything' });
    if (this.#keys) await this.page.keyboard.press('/');
    else await this.press(field);
    await this.page.keyboard.type(text);
    await this.press(this.page.locator('.found a', { hasText: name }));
  }
}

type Story = { readonly name: string; readonly most: number; readonly narrow?: true; play(hand: Hand, page: Page): Promise<void> };

const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

const stories: readonly Story[] = [
  {
    name: 'finds Lena by the middle of her name, and says why she can’t sign in',
    most: 3,
    narrow: true,
    play: async (hand, page) => {
      await hand.find('bermai', 'Lena Obermaier');
      await hand.press(link(page, 'Activity'));
      await page.locator('tbody th', { hasText: 'Wrong password' }).waitFor();
    },
  },
  {
    name: 'rotates a client secret',
    most: 4,
    play: async (hand, page) => {
      await hand.find('Night', 'Night shift');
      await hand.press(link(page, 'Rotate secret'));
      await hand.press(button(page, 'Rotate secret'));
      expect(await page.locator('#secret-client_secret').textContent()).toMatch(/^cs_/);
    },
  },
  {
    name: 'adds a redirect URI',
    most: 3,
    narrow: true,
    play: async (hand, page) => {
      await page.goto(`${service.url}/dashboard/clients/${client.id}`);
      await hand.press(link(page, 'Edit'));
      await hand.press(page.locator('.field', { has: page.locator('#redirect_uris') }).getByRole('button', { name: 'Add another' }));
      await page.keyboard.type(`https://app.example/${Math.random()}`);
      await hand.press(button(page, 'Save'));
      await page.getByText('Saved.').waitFor();
    },
  },
  {
    name: 'finds what failed, and sends it again',
    most: 3,
    play: async (hand, page) => {
      await hand.press(page.getByRole('link', { name: 'See what was answered' }));
      await hand.press(link(page, 'Redeliver failed'));
      await hand.press(button(page, 'Redeliver'));
      await page.waitForURL('**/deliveries?done=redelivered');
    },
  },
  {
    name: 'blocks somebody',
    most: 4,
    narrow: true,
    play: async (hand, page) => {
      const name = `Max${Math.random().toString(36).slice(2)}`;
      await addUser(ctx, { first_name: name, last_name: 'Unruh' });
      await hand.find(name.slice(1), name);
      await hand.press(link(page, 'Block user'));
      await hand.press(button(page, 'Block user'));
      await page.getByText('Blocked', { exact: true }).first().waitFor();
    },
  },
  {
    name: 'reads a token that somebody pasted',
    most: 3,
    narrow: true,
    play: async (hand, page) => {
      await hand.find('token', 'Read a token');
      await hand.write(page.getByLabel('Token', { exact: true }), token);
      await hand.press(button(page, 'Read token'));
      await page.getByText('Valid now').waitFor();
      await link(page, 'Night shift').waitFor();
    },
  },
  {
    name: 'changes the logo, and sees the sign-in page and a mail with it',
    most: 4,
    play: async (hand, page) => {
      await hand.find('brand', 'Branding');
      await page.getByLabel('Image').first().setInputFiles(logo);
      await hand.press(page.getByRole('button', { name: /^(Upload|Replace)$/ }));
      await page.getByText('Saved.').waitFor();
      const shown = (name: string) =>
        page.frameLocator(`iframe[data-page="${name}"][data-scheme="light"]`).locator('img').first().waitFor();
      await shown('login');
      await hand.press(page.locator('label', { hasText: 'Mail' }));
      await shown('mail');
    },
  },
];

let client: Awaited<ReturnType<typeof addClient>>;

beforeAll(async () => {
  writeFileSync(logo, png(120, 32));
  const lena = await addUser(ctx, { first_name: 'Lena', last_name: 'Obermaier' });
  await new Browser(service.url).postJson('/login', { email: lena.email, password: `not ${password}` });
  await flushSecurityTrail(service.deps);
  client = await addClient(ctx, { name: 'Acme Notes' });
  const machine = await addClient(ctx, { name: 'Night shift', grant_types: ['client_credentials'] });
  const resource = await addResource(ctx, { identifier: 'https://orders.example' });
  await addGrant(ctx, machine, resource);
  token = String((await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: resource.identifier })).body.access_token); // prettier-ignore
  const webhook = await addWebhook(ctx, `http://127.0.0.1:${await freePort()}/hook`);
  await emitRoles(ctx);
  await settledDeliveries(ctx, webhook.webhook.id);
});

const forms = [
  ['by mouse', 'mouse', { width: 1280, height: 860 }],
  ['by keyboard', 'keyboard', { width: 1280, height: 860 }],
  ['on a phone', 'mouse', { width: 390, height: 844 }],
] as const;

for (const [form, how, viewport] of forms)
  test.each(stories.filter(({ narrow }) => form === 'by mouse' || narrow))(`$name, ${form}: at most $most`, async ({ name, most, play }) => {
    const { page } = await administratorsPage(browser, ctx, { viewport });
    page.setDefaultTimeout(10_000);
    await page.goto(`${service.url}/dashboard`);
    const hand = new Hand(page, how);
    await play(hand, page);
    await picture(page, `story-${form}-${name}`.replaceAll(/[^\w]+/g, '-'));
    expect(hand.pressed).toBeLessThanOrEqual(most);
    await page.context().close();
  }); // prettier-ignore
