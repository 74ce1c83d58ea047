import express from 'express';
import supertest from 'supertest';
import { describe, expect, test } from 'vitest';
import { brandStylesheet, defaultAccent, stylesheetPath } from '../../../src/http/pages/brand-stylesheet.js';
import { fontNames } from '../../../src/lib/fonts.js';
import { createAssets } from '../../../src/http/pages/static.js';
import { contrast } from '../../../src/lib/contrast.js';

const assets = createAssets();
const app = express();
app.use(assets.handler);
app.use((_req, res) => void res.status(404).end());
const client = supertest(app);

describe('files of public/', () => {
  test('bear their hash in the address and may then be kept for ever', async () => {
    const url = assets.url('account.css');
    expect(url).toMatch(/^\/assets\/account-[0-9a-f]{12}\.css$/);
    const answer = await client.get(url).expect(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    });
  });

  test('under the plain name or the hash of another release are checked again each time', async () => {
    const plain = await client.get('/assets/form-post.js').expect(200);
    expect(plain.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-type': 'text/javascript; charset=utf-8' });
    await client
      .get('/assets/form-post.js')
      .set('If-None-Match', plain.headers['etag'] as string)
      .expect(304);
    const other = await client.get('/assets/account-0123456789ab.css').expect(200);
    expect(other.headers['cache-control']).toBe('no-cache');
  });

  test('come compressed, each below 15 KB, to those who accept that', async () => {
    for (const name of ['tokens.css', 'account.css', 'account.js', 'form-post.js', 'favicon.svg']) {
      const coded = await client.get(assets.url(name)).set('Accept-Encoding', 'br').expect('Content-Encoding', 'br').buffer(false);
      expect(Number(coded.headers['content-length'])).toBeLessThan(15_000);
      const plain = await client.get(assets.url(name)).set('Accept-Encoding', 'identity').expect(200);
      expect(plain.headers['content-encoding']).toBeUndefined();
    }
    await client.get(assets.url('account.css')).set('Accept-Encoding', 'gzip').expect('Content-Encoding', 'gzip');
  });

  test.each([
    '/assets/',
    '/assets/none.css',
    '/assets/../package.json',
    '/assets/%2e%2e/package.json',
    '/assets/account.css/',
    '/assets/constructor',
  ])('and nothing else: %s is not found', async (path) => {
    await client.get(path).expect(404);
  });

  test('are only read', async () => {
    await client.post('/assets/account.css').expect(404);
    await client.head(assets.url('account.css')).expect(200);
  });

  test('an unknown name in a view is a mistake that shows at once', () => {
    expect(() => assets.url('none.css')).toThrow('public/none.css');
  });
});

const accentCss = (hex: string) => brandStylesheet(`accent/${hex}.css`) ?? '';

describe('the stylesheet of a branding', () => {
  test('is named by the colour, or by the default one', () => {
    expect(stylesheetPath({ primary_color: '#F2C230' })).toBe('/assets/accent/f2c230.css');
    expect(
      [null, undefined, '', 'red', '#fff', '#000000}body{display:none'].map((colour) => stylesheetPath({ primary_color: colour ?? null })),
    ).toEqual(Array.from({ length: 6 }, () => `/assets/accent/${defaultAccent}.css`));
  });

  test('is cached for ever and holds nothing but tokens', async () => {
    const answer = await client.get('/assets/accent/f2c230.css').expect(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    expect(answer.text).toMatch(/^@layer tokens\{:root\{(--[a-z-]+:light-dark\(#[0-9a-f]{6},#[0-9a-f]{6}\);?)+\}\}\n$/);
  });

  test('has the dark colour, what is around, corners, font and the scheme of its address, and text that can be read there', async () => {
    const path = stylesheetPath(
      {
        primary_color: '#0f6b4f',
        dark_primary_color: '#ffd166',
        background_color: '#312E81',
        dark_background_color: '#fde68a',
        corner_radius: 0,
        font: 'serif',
      },
      'dark',
    );
    expect(path).toBe('/assets/accent/0f6b4f.dark-ffd166.ground-312e81.night-fde68a.radius-0.font-serif.scheme-dark.css');
    const { text } = await client.get(path).expect(200);
    expect(text).toContain('--accent:light-dark(#0f6b4f,#ffd166);');
    expect(text).toContain('--backdrop:light-dark(#312e81,#fde68a);--on-backdrop:light-dark(#ffffff,#000000)');
    expect(text).toContain('--radius-control:0px;--radius-card:0px;--font:Charter, ');
    expect(text).toContain(';color-scheme:dark}');
  });

  test('knows every font; a scheme without a background keeps its own', () => {
    for (const font of fontNames) expect(brandStylesheet(stylesheetPath({ font }).slice('/assets/'.length))).toContain('--font:');
    expect(brandStylesheet('accent/0f6b4f.night-000000.css')).toContain('--backdrop:light-dark(#f5f6f8,#000000)');
  });

  test.each([
    '0f6b4f.radius-25',
    '0f6b4f.font-comic',
    '0f6b4f.font-serif.dark-ffd166',
    '0f6b4f.scheme-red',
    '0f6b4f.',
    'red',
    'fff',
    'F2C230',
    'f2c230f',
    'f2c23g',
    'f2c230;',
  ])('refuses %s', async (colour) => {
    await client.get(`/assets/accent/${colour}.css`).expect(404);
  });

  test('keeps text and links at 4.5:1 or better in both schemes, for any colour', () => {
    for (const colour of ['000000', 'ffffff', 'f2c230', '0f6b4f', 'ff0000', '00ff00', '0000ff', '808080', '1a2b5c', defaultAccent]) {
      const value = (name: string) =>
        new RegExp(`--${name}:light-dark\\(#(.{6}),#(.{6})\\)`).exec(accentCss(colour))?.slice(1) as [string, string];
      const [accent, hover, on, text] = [value('accent'), value('accent-hover'), value('on-accent'), value('accent-text')];
      for (const scheme of [0, 1] as const) {
        expect(contrast(accent[scheme], on[scheme])).toBeGreaterThanOrEqual(4.5);
        expect(contrast(hover[scheme], on[scheme])).toBeGreaterThanOrEqual(4.5);
        for (const surface of [
          ['ffffff', 'f5f6f8'],
          ['1b1d22', '131519'],
        ][scheme] ?? [])
          expect(contrast(text[scheme], surface)).toBeGreaterThanOrEqual(4.5);
      }
    }
  });

  test('agrees with the defaults and surfaces of tokens.css', async () => {
    const tokens = (await client.get('/assets/tokens.css').expect(200)).text.replaceAll(
      /light-dark\((#\w+), (#\w+)\)/g,
      'light-dark($1,$2)',
    );
    for (const [line] of accentCss(defaultAccent).matchAll(/--[a-z-]+:light-dark\([^)]+\)/g))
      expect(tokens).toContain(line.replace(':', ': '));
    expect(tokens).toContain('--ground: light-dark(#f5f6f8,#131519)');
    expect(tokens).toContain('--surface: light-dark(#ffffff,#1b1d22)');
  });
});
