// A logo is uploaded in the dashboard by a form with a file, with or without scripts.
import { describe, expect, test } from 'vitest';
import { isLogoNamed } from '../../src/db/tables/logos.js';
import { unusedLogoPass } from '../../src/jobs/unused-logos.js';
import { signedInWith } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient } from '../support/data.js';
import { addOrganization } from '../support/organizations.js';
import { png } from '../support/images.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const permissions = [
  'environments:read',
  'environments:write',
  'clients:read',
  'clients:write',
  'logos:read',
  'logos:write',
  'organizations:read',
  'organizations:write',
];
const admin = shared(() => signedInWith(service, ...permissions).then((made) => ({ made })));
const settings = '/dashboard/settings/logo';

const pageOf = async (path: string, browser = admin.made) => (await browser.get(path)).text();
type Fields = Record<string, string>;

/** Posts a form with a file as a browser does. */
async function send(path: string, fields: Fields, file: Buffer | string | null, browser = admin.made): Promise<Response> {
  const form = new FormData();
  form.set('_csrf', csrfOf(await pageOf(path, browser)));
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  // A name and a type that say something else: neither counts.
  form.set('image', new File(file === null ? [] : [file as string], file === null ? '' : '../../x.html', { type: 'text/html' }));
  return browser.request(path, { method: 'POST', body: form, headers: { origin: service.url } });
}
const brandingOf = async (table: string, id: string) => (await ctx.db.knex(table).where({ id }).first('branding')).branding;

describe('the logo', () => {
  test('of the environment is uploaded for light and dark schemes, seen on both, used by the sign-in page, and removed', async () => {
    const { id } = ctx.environment;
    await ctx.db
      .knex('environments')
      .where({ id })
      .update({ branding: { primary_color: '#b3261e' } });
    expect(await pageOf('/dashboard/settings/branding')).toMatch(/href="#image-light"[\s\S]*action="\/dashboard\/settings\/logo"/);
    const answer = await send(settings, { slot: 'light' }, png());
    const branding = '/dashboard/settings/branding?done=updated';
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${branding}#image-light-title`]);
    const { logo_url, ...rest } = await brandingOf('environments', id);
    expect(rest).toEqual({ primary_color: '#b3261e' });
    const shown = await fetch(logo_url);
    expect(Buffer.from(await shown.arrayBuffer()).equals(png())).toBe(true);
    // Until there is one for dark schemes that for light ones is shown.
    expect((await pageOf(settings)).match(new RegExp(`<img src="${logo_url}"`, 'g'))).toHaveLength(2);
    expect((await send(settings, { slot: 'dark' }, png(16, 16))).status).toBe(303);
    const { dark_logo_url } = await brandingOf('environments', id);
    expect(dark_logo_url).not.toBe(logo_url);
    const login = await new Browser(service.url).get('/login');
    const html = await login.text();
    expect(html).toContain(`<source srcset="${dark_logo_url}" media="(prefers-color-scheme: dark)">`);
    expect(html).toContain(`<img class="brand-logo" src="${logo_url}"`);
    expect(login.headers.get('content-security-policy')).toContain("img-src 'self' ");
    const removed = await admin.made.post(settings, { _csrf: csrfOf(await pageOf(settings)), slot: 'light', remove: 'on' });
    expect(removed.status).toBe(303);
    expect(await brandingOf('environments', id)).toMatchObject({ logo_url: null, dark_logo_url });
  });

  test('in the tab of the browser is an image of its own, and stays as long as the branding names it', async () => {
    const { id } = ctx.environment;
    expect((await send(settings, { slot: 'favicon' }, png(32, 32))).headers.get('location')).toContain('#image-favicon-title');
    const { favicon_url } = await brandingOf('environments', id);
    expect(await (await new Browser(service.url).get('/login')).text()).toContain(`<link rel="icon" href="${favicon_url}">`);
    const named = /\/logos\/([0-9a-f]{64})/.exec(favicon_url)?.[1] ?? '';
    expect(await isLogoNamed(ctx.scope, named)).toBe(true);
  });

  test('of a client is uploaded from its form', async () => {
    const client = await addClient(ctx, { name: 'Notes', first_party: false, branding: { name: 'Acme Notes' } });
    const path = `/dashboard/clients/${client.id}/logo`;
    expect(await pageOf(`/dashboard/clients/${client.id}/edit/branding`)).toContain(`action="${path}"`);
    expect(await pageOf(`/dashboard/clients/${client.id}/edit`)).not.toContain(`action="${path}"`);
    expect(await pageOf('/dashboard/clients/new?application_type=web')).not.toContain('/logo"');
    const answer = await send(path, { slot: 'light' }, png());
    expect(answer.headers.get('location')).toBe(`/dashboard/clients/${client.id}/edit/branding?done=updated#image-light-title`);
    expect(await brandingOf('clients', client.id)).toMatchObject({ name: 'Acme Notes', logo_url: expect.stringContaining('/logos/') });
    expect((await admin.made.get(`/dashboard/clients/${client.id}x/logo`)).status).toBe(404);
  });

  test('of an organization is uploaded from its form, kept as long as it names it, and seen by who signs in for it', async () => {
    const { id, display_name } = await addOrganization(ctx, { branding: { primary_color: '#0b6b3a' } });
    const path = `/dashboard/organizations/${id}/logo`;
    expect(await pageOf(`/dashboard/organizations/${id}/edit/branding`)).toMatch(
      new RegExp(`href="#image-light"[\\s\\S]*action="${path}"`),
    );
    expect(await pageOf('/dashboard/organizations/new')).not.toContain('/logo"');
    expect(await pageOf(path)).toContain(display_name);
    const answer = await send(path, { slot: 'light' }, png(7, 7));
    expect(answer.headers.get('location')).toBe(`/dashboard/organizations/${id}/edit/branding?done=updated#image-light-title`);
    const { logo_url, ...rest } = await brandingOf('organizations', id);
    expect([(await fetch(logo_url)).status, rest]).toEqual([200, { primary_color: '#0b6b3a' }]);
    const named = /\/logos\/([0-9a-f]{64})/.exec(logo_url)?.[1] ?? '';
    await ctx.db.knex('logos').update({ expires_at: new Date(0) });
    await unusedLogoPass(service.deps);
    expect([await isLogoNamed(ctx.scope, named), (await fetch(logo_url)).status]).toEqual([true, 200]);
    const removed = await admin.made.post(path, { _csrf: csrfOf(await pageOf(path)), slot: 'light', remove: 'on' });
    expect([removed.status, await brandingOf('organizations', id)]).toEqual([303, { logo_url: null, primary_color: '#0b6b3a' }]);
    expect(await isLogoNamed(ctx.scope, named)).toBe(false);
    expect((await admin.made.get(`/dashboard/organizations/${ctx.environment.id}/logo`)).status).toBe(404);
    for (const lacking of ['organizations:write', 'logos:write']) {
      const browser = await signedInWith(service, ...permissions.filter((permission) => permission !== lacking));
      expect([lacking, (await browser.get(path)).status]).toEqual([lacking, 403]);
    }
  });

  test('that is none, or too large, or was not chosen, is refused at its field, and nothing is kept (attack 42.823)', async () => {
    await ctx.db.knex('logos').delete();
    const refused = async (file: Buffer | string | null) => {
      const answer = await send(settings, { slot: 'dark' }, file);
      const error = /id="image-dark-error">[\s\S]*?<\/span>([^<]*)<\/span>/.exec(await answer.text())?.[1];
      return [answer.status, error];
    };
    expect(await refused(null)).toEqual([422, 'Choose an image first.']);
    expect(await refused('GIF89a')).toEqual([422, 'The image must be PNG, JPEG or WebP. Export another format, such as SVG, as PNG.']);
    expect(await refused(png(1, 1, { width: 9_999, height: 1 }))).toEqual([422, 'The image is more than 4096 pixels wide or high.']);
    expect(await refused(Buffer.alloc(600 * 1024, 60))).toEqual([422, 'The image is larger than 512 KiB.']);
    expect((await send(settings, { slot: 'dark' }, Buffer.alloc(17 * 1024 * 1024))).status).toBe(413);
    expect((await send(settings, { slot: 'other' }, png())).status).toBe(404);
    expect(await ctx.db.knex('logos')).toEqual([]);
  });

  test('comes by a form of our own page, from somebody who may change what it is the logo of', async () => {
    const form = new FormData();
    form.set('slot', 'light');
    form.set('image', new File([Buffer.from(png())], 'x.png'));
    const post = (browser: Browser, headers: Record<string, string> = { origin: service.url }) =>
      browser.request(settings, { method: 'POST', body: form, headers });
    expect((await post(admin.made)).status).toBe(403);
    form.set('_csrf', csrfOf(await pageOf(settings)));
    expect((await post(admin.made, { origin: 'https://evil.example' })).status).toBe(403);
    const stranger = await post(new Browser(service.url));
    expect([stranger.status, stranger.headers.get('location')]).toEqual([303, expect.stringContaining('/login')]);
    for (const lacking of ['environments:write', 'logos:write']) {
      const browser = await signedInWith(service, ...permissions.filter((name) => name !== lacking));
      expect([lacking, (await browser.get(settings)).status]).toEqual([lacking, 403]);
      expect(await pageOf('/dashboard/settings/branding', browser)).not.toContain(settings);
      form.set('_csrf', csrfOf(await pageOf('/dashboard', browser)));
      expect([lacking, (await post(browser)).status]).toEqual([lacking, 403]);
    }
  });

  test('a body that is no form, or ends within its file, is 400, and nothing else comes of it (attack 42.840)', async () => {
    const post = (body: string, type: string) =>
      admin.made.request(settings, { method: 'POST', body, headers: { origin: service.url, 'content-type': type } });
    const part = (name: string, more = '') => `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\nx\r\n`;
    const multipart = 'multipart/form-data; boundary=b';
    expect((await post('x', 'multipart/form-data')).status).toBe(400);
    expect((await post('', multipart)).status).toBe(400);
    expect((await post(part('slot'), multipart)).status).toBe(400);
    expect((await post(part('image', '; filename="a"'), multipart)).status).toBe(400);
    expect((await post(`${part('image', '; filename="a"')}--b`, multipart)).status).toBe(400);
    expect((await post(`${part('image', '; filename="a"')}--b\r\ncontent-disp`, multipart)).status).toBe(400);
    expect((await post(`--b\r\ncontent-disposition: form-data; name="image"; filename="a"`, multipart)).status).toBe(400);
    expect((await post(`--b\r\nx: y\r\n\r\n`, multipart)).status).toBe(400);
    expect((await post(`${part('image', '; filename="a"')}${part('other', '; filename="b"')}--b--\r\n`, multipart)).status).toBe(413);
    expect((await post(`${Array.from({ length: 30 }, (_, at) => part(`f${at}`)).join('')}--b--\r\n`, multipart)).status).toBe(413);
    expect(
      (await post(`--b\r\ncontent-disposition: form-data; name="slot"\r\n\r\n${'x'.repeat(9_000)}\r\n--b--\r\n`, multipart)).status,
    ).toBe(413);
    expect((await post(`${part('__proto__')}--b--\r\n`, multipart)).status).toBe(403);
  });
});
