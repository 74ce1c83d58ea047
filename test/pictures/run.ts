// The pictures of README.md, taken from the service with people and figures of a small shop: `npm run pictures` writes docs/pictures/.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { addUserRoles, findRoleByName } from '../../src/db/tables/roles.js';
import { insert } from '../../src/db/scope.js';
import { updateUser } from '../../src/db/tables/users.js';
import type { Context } from '../../src/domain/context.js';
import { administratorRole } from '../../src/domain/reach/management-permissions.js';
import { Browser } from '../support/browser.js';
import { launchChromium, signInAt } from '../support/chromium.js';
import { addConnection } from '../support/connections.js';
import { addClient, addUser, password } from '../support/data.js';
import { setEnvironment } from '../support/signed-in.js';
import { createTestClock, startTestService, type TestService } from '../support/service.js';
import { startSmtpServer } from '../support/smtp.js';
import { openStandalone } from '../support/standalone.js';

const folder = process.argv[2] ?? 'docs/pictures';
const [minuteMs, dayMs] = [60_000, 86_400_000];
const names = ['Lena Berger', 'Amir Haddad', 'Chloé Martin', 'Diego Alvarez', 'Emi Tanaka', 'Femi Okafor', 'Greta Lind', 'Hugo Silva'];
const phone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1'; // prettier-ignore
const laptop = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** The last sixty days of the shop, busier on weekdays and from week to week. */
async function addFigures({ scope, clock }: Context): Promise<void> {
  const most = {
    'logins succeeded': 180,
    'logins failed': 14,
    'tokens authorization_code': 170,
    'tokens refresh_token': 320,
    'tokens client_credentials': 60,
    'deliveries succeeded': 96,
    'deliveries failed': 0.7,
  };
  for (let ago = 0; ago < 60; ago++) {
    const day = new Date(clock.now().getTime() - ago * dayMs);
    const busy =
      ([0, 6].includes(day.getUTCDay()) ? 0.45 : 0.8) * (1 - ago / 110) * (1 + 0.2 * Math.sin(ago * 2.4)) * (ago === 0 ? 0.6 : 1);
    for (const [name, figure] of Object.entries(most)) {
      const [stat = '', label = ''] = name.split(' ');
      await insert(scope, 'daily_stats', { day, name: stat, label, count: Math.round(figure * busy) });
    }
  }
}

/** Ninety customers, of whom two thirds come again, more of them lately. @returns the id of the first, Lena */
async function addPeople(ctx: Context): Promise<string> {
  const now = ctx.clock.now().getTime();
  const people = Array.from({ length: 90 }, (_, index) => {
    const name = names[index % names.length] ?? '';
    const [first_name = '', last_name = ''] = name.split(' ');
    const email = `${first_name}.${last_name}`
      .normalize('NFD')
      .replaceAll(/[^\w.]/g, '')
      .toLowerCase();
    const created_at = new Date(now - 58 * (((index * 37) % 90) / 90) ** 1.6 * dayMs);
    const last_login_at = index % 3 === 0 ? null : new Date(now - (index * dayMs) / 4);
    return { first_name, last_name, email: `${email}${index < names.length ? '' : index}@example.com`, created_at, last_login_at };
  });
  const [lena] = await Promise.all(people.map((person) => addUser(ctx, person)));
  return lena?.id ?? '';
}

/** Lena's day: she signs in by phone, then has forgotten her password. */
async function playLena(service: TestService, authorize: string): Promise<void> {
  const tries = [
    ['203.0.113.80', phone, password, 1120],
    ['198.51.100.23', laptop, 'summer 2025', 1],
    ['198.51.100.23', laptop, 'Summer 2025', 1],
    ['198.51.100.23', laptop, 'summer2025', 318],
  ] as const;
  for (const [address, userAgent, word, minutes] of tries) {
    const person = new Browser(service.url, { 'user-agent': userAgent, 'x-forwarded-for': address });
    const login = new URL((await person.get(authorize)).headers.get('location') ?? '', service.url);
    await person.login('lena.berger@example.com', word, login.searchParams.get('return_to') ?? '');
    service.clock.advance(minutes * minuteMs);
  }
}

/** As WebP, which is a third of a PNG. */
async function toWebp(page: Page, png: Buffer): Promise<Buffer> {
  const address = await page.evaluate(
    async (source) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext('2d')?.drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', 0.86);
    },
    `data:image/png;base64,${png.toString('base64')}`,
  );
  return Buffer.from(address.slice(address.indexOf(',') + 1), 'base64');
}

const standalone = await openStandalone();
const clock = createTestClock();
clock.advance(-1440 * minuteMs);
const mails = await startSmtpServer();
const settings = { PORT: '3000', LOG_LEVEL: 'warn', TRUST_PROXY: 'on', SMTP_URL: `smtp://127.0.0.1:${mails.port}` };
const service = await startTestService(settings, { database: standalone, clock });
const browser = await launchChromium();
try {
  await setEnvironment(service, { name: 'Acme', kind: 'production' });
  const ctx = await service.context();
  const lena = await addPeople(ctx);
  await addConnection(ctx, { name: 'google', display_name: 'Google', strategy: 'google' });
  const client = await addClient(ctx, { name: 'Acme Store' });
  await addClient(ctx, { name: 'Acme for iPhone', application_type: 'native', token_endpoint_auth_method: 'none' });
  const admin = await addUser(ctx, { email: 'ada@example.com', authenticator_kinds: ['passkey'] });
  const other = await addUser(ctx, { email: 'ben@example.com', first_name: 'Ben', last_name: 'Okri', authenticator_kinds: ['passkey'] });
  const role = await findRoleByName(ctx.scope, administratorRole);
  for (const { id } of [admin, other]) await addUserRoles(ctx.scope, id, role ? [role.id] : []);
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: client.redirect_uris[0] ?? '',
    scope: 'openid',
  });
  const authorize = `/oauth/authorize?${query.toString()}`;
  // Before her tries, which the service adds to today's.
  await addFigures(ctx);
  await playLena(service, authorize);
  await mkdir(folder, { recursive: true });
  const blank = await browser.newPage();
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1.5 });
    const page = await context.newPage();
    const take = async (name: string) => {
      const webp = await toWebp(blank, await page.screenshot());
      await writeFile(join(folder, `${name}-${colorScheme}.webp`), webp);
      console.log(`${name}-${colorScheme}.webp: ${Math.ceil(webp.length / 1024)} KB`);
    };
    await page.goto(service.url + authorize);
    await take('sign-in');
    // By the password alone, of somebody who has more than that.
    await updateUser(ctx.scope, admin.id, { authenticator_kinds: [] });
    await signInAt(page, service.url, admin.email, password);
    if (colorScheme === 'light') {
      const { id } = (await ctx.db.knex('sessions').where({ user_id: admin.id }).first('id')) as { id: string };
      await insert(ctx.scope, 'session_clients', { session_id: id, client_id: client.id, created_at: clock.now() });
    }
    await updateUser(ctx.scope, admin.id, { authenticator_kinds: ['passkey'] });
    await page.goto(`${service.url}/dashboard`);
    await take('overview');
    await page.goto(`${service.url}/dashboard/users/${lena}/activity`);
    await take('activity');
    await context.close();
  }
} finally {
  await browser.close();
  await service.stop();
  await mails.close();
  await standalone.close();
}
