// Images for branding: uploaded through the Management API, shown at an address of their own.
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { unusedLogoPass } from '../../src/jobs/unused-logos.js';
import { addClient } from '../support/data.js';
import { jpeg, png, smallWebp } from '../support/images.js';
import { Api, manage, managementClient, managementToken, secondEnvironment, type Document } from '../support/management.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url).then((made) => ({ made })));

const base64 = (image: Buffer | string) => Buffer.from(image as string).toString('base64');
const upload = (image: Buffer | string, caller = api.made) => caller.attempt('logos', { image: base64(image) });
const uploaded = async (image: Buffer | string): Promise<Document> => (await upload(image)).body['data'] as Document;
const show = (url: string, init?: RequestInit) => fetch(new URL(new URL(url).pathname, service.url), init);
const brand = (branding: Document) => api.made.update('environments', ctx.environment.id, { branding });
const codes = ({ status, body }: { status: number; body: Document }) => [
  status,
  ...((body['errors'] ?? []) as Document[]).map(({ code }) => code),
];

afterEach(async () => {
  await brand({});
  await ctx.db.knex('clients').where({ environment_id: ctx.environment.id }).update({ branding: {} });
  await ctx.db.knex('logos').delete();
});

describe('a logo', () => {
  test('is uploaded in Base64 and shown for good at the address that is the digest of its bytes', async () => {
    for (const [image, type, end] of [
      [png(), 'image/png', 'png'],
      [jpeg(), 'image/jpeg', 'jpg'],
      [smallWebp, 'image/webp', 'webp'],
    ] as const) {
      const { status, body, headers } = await upload(image);
      const id = createHash('sha256').update(image).digest('hex');
      const { attributes } = body['data'];
      expect([status, body['data'].id]).toEqual([201, id]);
      expect(headers.get('location')).toBe(`${ctx.environment.base_url}/api/logos/${id}`);
      expect(attributes).toMatchObject({ url: `${ctx.environment.issuer}/logos/${id}.${end}`, content_type: type, size: image.length });
      expect(attributes).not.toHaveProperty('image');
      const shown = await show(attributes.url);
      expect(shown.status).toBe(200);
      expect(Buffer.from(await shown.arrayBuffer()).equals(image)).toBe(true);
      expect(shown.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      const path = `${service.url}${new URL(attributes.url).pathname}`;
      const again = await new Api(service.url, null).get(path, { accept: '*/*', 'if-none-match': shown.headers.get('etag') ?? '' });
      expect(again.status).toBe(304);
      expect((await show(attributes.url, { method: 'HEAD' })).headers.get('content-type')).toBe(type);
      expect((await show(attributes.url, { method: 'POST' })).status).toBe(405);
    }
  });

  test('uploaded again is the same', async () => {
    const [one, other] = [await uploaded(png()), await uploaded(png())];
    expect(other['id']).toBe(one['id']);
    expect((await api.made.get('/logos')).body['data']).toHaveLength(1);
  });

  test('that is SVG is refused, whatever it holds, and one that is shown can run and load nothing (attack 42.820)', async () => {
    const svg = await upload('<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9"/></svg>');
    expect(codes(svg)).toEqual([422, 'invalid_image']);
    expect(JSON.stringify(svg.body)).toContain('Export another format, such as SVG, as PNG.');
    const shown = await show((await uploaded(png()))['attributes'].url);
    expect(shown.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'; sandbox");
  });

  test('is of the type that its content has, and browsers are told not to guess (attack 42.824)', async () => {
    const { url, content_type } = (await uploaded(jpeg(8, 8, Buffer.from('<script>alert(1)</script>'))))['attributes'];
    expect(content_type).toBe('image/jpeg');
    const shown = await show(url);
    expect([shown.headers.get('content-type'), shown.headers.get('x-content-type-options')]).toEqual(['image/jpeg', 'nosniff']);
    // The address has one name: an image isn't shown as another type.
    for (const end of ['png', 'html', 'webp', 'jpg.html', 'JPG', 'svg']) expect((await show(url.replace(/jpg$/, end))).status).toBe(404);
    for (const image of ['<html><script>alert(1)</script></html>', 'GIF89a', 'alert(1)'])
      expect(codes(await upload(image))).toEqual([422, 'invalid_image']);
  });

  test('that would unfold in the memory of whoever sees it, or is too large, is refused (attack 42.823)', async () => {
    expect(codes(await upload(png(1, 1, { width: 100_000, height: 100_000 })))).toEqual([422, 'invalid_image']);
    const { status, body } = await upload('GIF89a');
    expect([status, body['errors'][0].source]).toEqual([422, { pointer: '/data/attributes/image' }]);
    expect((await upload(Buffer.alloc(513 * 1024, 32))).status).toBe(422);
    expect((await upload(Buffer.alloc(1024 * 1024, 32))).status).toBe(413);
    const plain = await api.made.attempt('logos', { image: '<svg/>' });
    expect(plain.status).toBe(422);
  });

  test('cannot be had by a path that leads elsewhere (attack 42.825)', async () => {
    const { url } = (await uploaded(png()))['attributes'];
    const name = new URL(url).pathname.slice('/logos/'.length);
    for (const path of [
      '..%2f..%2fpackage.json',
      '%2e%2e/package.json',
      `x%2f..%2f${name}`,
      `${name}%00.svg`,
      `%00${name}`,
      `${name}%2f..`,
      '%ff',
      name.toUpperCase(),
      `${'0'.repeat(64)}.png`,
    ])
      // prettier-ignore
      expect([path, (await fetch(`${service.url}/logos/${path}`)).status]).toEqual([path, expect.toSatisfy((status: number) => status === 404 || status === 400)]);
    expect((await fetch(`${service.url}/logos/`)).status).toBe(404);
  });

  test('is found in its own environment alone (attack 42.822)', async () => {
    const { id, attributes } = await uploaded(png());
    const staging = await secondEnvironment(api.made, 'logo-staging');
    const get = (host: string) =>
      new Api(service.url, null, host).get(`${service.url}${new URL(attributes.url).pathname}`, { accept: '*/*' });
    expect((await get(staging.host)).status).toBe(404);
    expect((await get(new URL(service.url).host)).status).toBe(200);
    expect((await staging.api.get(`/logos/${id}`)).status).toBe(404);
    expect((await staging.api.delete(`/logos/${id}`)).status).toBe(404);
    expect((await staging.api.get('/logos')).body['data']).toEqual([]);
    // The same image there is another logo.
    expect((await upload(png(), staging.api)).body['data'].attributes.url).toBe(
      `http://${staging.host}${new URL(attributes.url).pathname}`,
    );
    expect((await get(staging.host)).status).toBe(200);
  });

  test('named by another environment stays for 30 days and more, and can be deleted by its own (attack 42.844)', async () => {
    const { id, attributes } = await uploaded(png());
    const staging = await secondEnvironment(api.made, 'logo-naming');
    await ctx.db
      .knex('environments')
      .where({ slug: 'logo-naming' })
      .update({ branding: { logo_url: attributes.url } });
    await ctx.db.knex('logos').update({ expires_at: new Date(0) });
    expect(await unusedLogoPass(service.deps)).toBe(0);
    expect((await api.made.get(`/logos/${id}`)).body['data'].attributes.expires_at).toBeNull();
    expect((await staging.api.delete(`/logos/${id}`)).status).toBe(404);
    expect((await api.made.delete(`/logos/${id}`)).status).toBe(204);
  });

  test('stays while a branding of an environment or a client names it, and goes 30 days after none does', async () => {
    const [light, dark, consent, unused] = [
      await uploaded(png(1, 1)),
      await uploaded(png(2, 2)),
      await uploaded(png(3, 3)),
      await uploaded(png(4, 4)),
    ];
    const address = (logo: Document) => logo['attributes'].url as string;
    await brand({ logo_url: address(light) });
    const client = await addClient(ctx, {
      branding: { logo_url: 'https://x.example/a.png', dark_logo_url: address(dark) },
      logo_uri: address(consent),
    });
    const left = async () => ((await api.made.get('/logos')).body['data'] as Document[]).map(({ id }) => id).sort();
    const ids = (...logos: Document[]) => logos.map(({ id }) => id as string).sort();
    expect(await unusedLogoPass(service.deps)).toBe(0);
    expect((await api.made.get(`/logos/${light['id']}`)).body['data'].attributes.expires_at).toBeNull();
    expect((await api.made.get(`/logos/${unused['id']}`)).body['data'].attributes.expires_at).not.toBeNull();
    expect(codes(await api.made.delete(`/logos/${light['id']}`))).toEqual([409, 'logo_in_use']);
    await ctx.db
      .knex('logos')
      .where({ id: unused['id'] })
      .update({ expires_at: new Date(0) });
    expect(await unusedLogoPass(service.deps)).toBe(1);
    expect(await left()).toEqual(ids(light, dark, consent));
    await brand({});
    await ctx.db.knex('clients').where({ id: client.id }).update({ branding: {}, logo_uri: null });
    expect(await unusedLogoPass(service.deps)).toBe(0);
    const [row] = await ctx.db.knex('logos').where({ id: light['id'] });
    expect(row.expires_at.getTime() - ctx.clock.now().getTime()).toBeGreaterThan(29 * 86_400_000);
    // One that is due is spared when a branding names it by then.
    await ctx.db.knex('logos').update({ expires_at: new Date(0) });
    await brand({ dark_logo_url: address(dark) });
    expect(await unusedLogoPass(service.deps)).toBe(2);
    expect(await left()).toEqual(ids(dark));
  });

  test('takes the permission for logos, and leaves an entry in the audit log without the image', async () => {
    const only = async (scope: string) => new Api(service.url, await managementToken(service.url, managementClient, { scope }));
    expect((await upload(png(), await only('environments:write clients:write logos:read'))).status).toBe(403);
    const writer = await only('logos:write');
    const { body } = await upload(png(), writer);
    expect((await writer.get('/logos')).status).toBe(403);
    const [entry] = (await api.made.get('/audit_logs?filter[action]=logo.created')).body['data'];
    expect(entry.attributes.changes).toMatchObject({ content_type: [null, 'image/png'], image: ['[redacted]', '[redacted]'] });
    expect((await writer.delete(`/logos/${body['data'].id}`)).status).toBe(204);
    expect((await show(body['data'].attributes.url.replace(/logos\/\w{8}/, 'logos/00000000'))).status).toBe(404);
  });

  test('is one of a bounded number', async () => {
    const row = { environment_id: ctx.environment.id, content_type: 'image/png', size: 1, image: Buffer.alloc(1), created_at: new Date() };
    const { id } = await uploaded(png());
    await ctx.db.knex('logos').insert(Array.from({ length: 999 }, (_, at) => ({ ...row, id: at.toString(16).padStart(64, '0') })));
    expect(codes(await upload(smallWebp))).toEqual([409, 'too_many']);
    expect((await upload(png())).body['data'].id).toBe(id);
    await ctx.db.knex('logos').where({ size: 1 }).delete();
    await ctx.db.knex('logos').insert({ ...row, id: '0'.repeat(64), size: 64 * 1024 * 1024 });
    expect(codes(await upload(smallWebp))).toEqual([409, 'too_many']);
  });

  test('of the last place is one, however many are uploaded at the same moment (attack 42.843)', async () => {
    const { id } = await uploaded(png());
    const row = await ctx.db.knex('logos').where({ id }).first();
    await ctx.db.knex('logos').insert({ ...row, id: '0'.repeat(64), size: 64 * 1024 * 1024 - row.size - png(9, 9).length });
    const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => upload(png(9, 9, { width: 9 + at, height: 9 }))));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
  });
});
