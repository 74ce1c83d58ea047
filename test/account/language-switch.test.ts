// Pages that answer a form and can't be had by their address: they are made again in another language with what was typed, and nothing is done.
import { beforeEach, describe, expect, test } from 'vitest';
import { listAuthenticatorsOfUser } from '../../src/db/tables/authenticators.js';
import { findUser, type UserRow } from '../../src/db/tables/users.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { formValues } from '../support/dashboard-forms.js';
import { giveTotp, totpCode } from '../support/factors.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
let user: UserRow;
let browser: Browser;

const langOf = (html: string) => /<html lang="([^"]*)"/.exec(html)?.[1];
const formOf = (html: string, id: string) => formValues(new RegExp(`<form id="${id}"[\\s\\S]*?</form>`).exec(html)?.[0] ?? '');
/** The buttons that send the form with the id for its page in another language. */
const switchOf = (html: string, id: string) =>
  [...html.matchAll(new RegExp(`name="_language" value="([^"]+)"[^>]* form="${id}" formnovalidate`, 'g'))].map(([, tag]) => tag);

beforeEach(async () => {
  service.clock.advance(60_000);
  user = await addUser(ctx);
  browser = new Browser(service.url, { 'accept-language': 'en' });
});

describe('the switch of a page that answers a form (specification 4.13.3)', () => {
  test('keeps the names of a registration, and makes no account', async () => {
    const email = 'switch@example.com';
    const started = await browser.submit('/register', { email });
    const page = await (await browser.get(started.headers.get('location') ?? '')).text();
    const code = codeIn(await lastMailTo(service.url, email));
    const html = await (await browser.post('/register/verify', { ...formOf(page, 'verify'), ...formValues(page), code })).text();
    expect(switchOf(html, 'complete')).toHaveLength(14);
    const typed = { ...formOf(html, 'complete'), first_name: 'Ada', last_name: 'Lovelace', password: 'a password that stays here' };
    const switched = await browser.post('/register/complete', { ...typed, _language: 'de' });
    const again = await switched.text();
    expect([switched.status, langOf(again), browser.cookies.get('idp_language')]).toEqual([200, 'de', 'de']);
    expect(formOf(again, 'complete')).toMatchObject({ first_name: 'Ada', last_name: 'Lovelace', password: '' });
    expect(again).not.toContain('a password that stays here');
    expect(await ctx.db.knex('users').where({ email })).toEqual([]);
    const done = await browser.post('/register/complete', { ...formOf(again, 'complete'), password: 'a password that stays here' });
    expect(done.status).toBe(303);
  });

  test('keeps a profile as it was typed, wrong as it is, and saves nothing', async () => {
    await browser.login(user.email, password);
    const form = formOf(await (await browser.get('/account')).text(), 'profile-form');
    const refused = await browser.post('/account/profile', { ...form, first_name: 'Grace', birthdate: 'soon' });
    const html = await refused.text();
    expect([refused.status, switchOf(html, 'profile-form').length]).toEqual([422, 14]);
    const switched = await browser.post('/account/profile', { ...formOf(html, 'profile-form'), _language: 'ar' });
    const again = await switched.text();
    expect([switched.status, langOf(again)]).toEqual([200, 'ar']);
    expect(formOf(again, 'profile-form')).toMatchObject({ first_name: 'Grace', birthdate: 'soon' });
    expect((await findUser(ctx.scope, user.id))?.first_name).toBe(user.first_name);
  });

  test('keeps the secret of an app, and no code is tried', async () => {
    await browser.login(user.email, password);
    const _csrf = csrfOf(await (await browser.get('/account')).text());
    const html = await (await browser.post('/account/authenticators/totp', { _csrf, name: 'Phone' })).text();
    const secretIn = (text: string) => /id="totp-secret">([^<]+)/.exec(text)?.[1] ?? 'none';
    const code = totpCode(secretIn(html).replaceAll(' ', ''), service.clock.now());
    expect(switchOf(html, 'totp')).toHaveLength(14);
    const switched = await browser.post('/account/authenticators/totp/verify', { ...formOf(html, 'totp'), code, _language: 'ja' });
    const again = await switched.text();
    expect([switched.status, langOf(again), secretIn(again)]).toEqual([200, 'ja', secretIn(html)]);
    expect((await findUser(ctx.scope, user.id))?.authenticator_kinds).toEqual([]);
    const added = await browser.post('/account/authenticators/totp/verify', { ...formOf(again, 'totp'), code });
    expect([added.status, (await findUser(ctx.scope, user.id))?.authenticator_kinds]).toEqual([200, expect.arrayContaining(['totp'])]);
  });

  test('of a form that waits for a proof does not send it, confirmed meanwhile or not', async () => {
    await browser.login(user.email, password);
    const { id, secret } = await giveTotp(ctx, user.id);
    service.clock.advance(601_000);
    const path = `/account/authenticators/${id}/rename`;
    const _csrf = csrfOf(await (await browser.get('/account')).text());
    const asked = await browser.post(path, { _csrf, name: 'My new phone' });
    const html = await asked.text();
    expect([asked.status, switchOf(html, 'confirm-language').length]).toEqual([403, 14]);
    const form = formOf(html, 'confirm-language');
    const nameNow = async () => (await listAuthenticatorsOfUser(ctx.scope, user.id)).find((one) => one.id === id)?.name;
    const before = await nameNow();
    const code = totpCode(secret, service.clock.now());
    for (const confirmed of [false, true]) {
      if (confirmed) expect((await browser.postJson('/account/confirm', { code }, { origin: service.url })).status).toBe(200);
      const fields = { ...form, _csrf: csrfOf(await (await browser.get('/account')).text()) };
      const switched = await browser.post(path, { ...fields, _language: 'he' });
      const again = await switched.text();
      expect([switched.status, langOf(again), await nameNow()]).toEqual([200, 'he', before]);
      expect(formOf(again, 'confirm-language')).toMatchObject({ name: 'My new phone' });
    }
    const { _held: _, ...held } = formOf(html, 'confirm-language');
    const saved = await browser.post(path, { ...held, _csrf: csrfOf(await (await browser.get('/account')).text()) });
    expect([saved.status, await nameNow()]).toEqual([303, 'My new phone']);
  });

  test('is no way around the token of the form (attack 39.782)', async () => {
    await browser.login(user.email, password);
    const { _csrf: _, ...fields } = formOf(await (await browser.get('/account')).text(), 'profile-form');
    const answer = await browser.post('/account/profile', { ...fields, _language: 'de' });
    expect([answer.status, browser.cookies.has('idp_language')]).toEqual([403, false]);
  });

  test('with a language that there isn’t does nothing either', async () => {
    await browser.login(user.email, password);
    const form = formOf(await (await browser.get('/account')).text(), 'profile-form');
    for (const _language of ['__proto__', 'xx']) {
      const answer = await browser.post('/account/profile', { ...form, first_name: 'Eve', _language });
      expect([answer.status, langOf(await answer.text()), browser.cookies.has('idp_language')]).toEqual([200, 'en', false]);
    }
    expect((await findUser(ctx.scope, user.id))?.first_name).toBe(user.first_name);
  });
});
