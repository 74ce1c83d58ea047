import express from 'express';
import supertest from 'supertest';
import { describe, expect, test } from 'vitest';
import { basePage, createPageRenderer, formActionSource, type RenderOptions } from '../../../src/http/pages/pages.js';
import { defaultAccent } from '../../../src/http/pages/brand-stylesheet.js';
import { createAssets } from '../../../src/http/pages/static.js';
import { samplePages, type SamplePage } from '../../support/sample-pages.js';

const { renderPage } = createPageRenderer({ assets: createAssets() });

function get(sample: SamplePage, options?: RenderOptions) {
  const app = express();
  app.get('/', (_req, res) => renderPage(res, sample.view, sample.model, options));
  return supertest(app).get('/');
}

const sampleOf = (name: string) => samplePages.get(name) as SamplePage;
const all = (html: string, pattern: RegExp) => [...html.matchAll(pattern)].map((match) => match[1] ?? match[0]);

describe.each([...samplePages])('the page %s', (_name, sample) => {
  test('has one h1, a title of its own, a skip link to main, a language', async () => {
    const { text } = await get(sample).expect(200);
    expect(all(text, /<h1[ >]/g)).toHaveLength(1);
    expect(all(text, /<title>([^<]*)<\/title>/g)).toEqual([expect.stringContaining(sample.model.title)]);
    expect(text).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(text).toContain('<a class="skip" href="#main">');
    expect(all(text, /<main id="main"/g)).toHaveLength(1);
  });

  test('keeps to its policy: no style, script or handler inside', async () => {
    const { text } = await get(sample);
    expect(all(text, /<script[^>]*>[^<]/g)).toEqual([]);
    expect(text).not.toMatch(/<style|\sstyle=|\son[a-z]+=/);
    expect(all(text, /<form[^>]*method="(\w+)"/g)).toHaveLength(all(text, /<form/g).length);
  });

  test('labels every field and gives no id twice', async () => {
    const { text } = await get(sample);
    const ids = all(text, / id="([^"]*)"/g);
    expect(new Set(ids).size).toBe(ids.length);
    const fields = all(text, /<(?:input|textarea|select)(?![^>]*(?:type="hidden"| hidden))[^>]* id="([^"]*)"/g);
    for (const id of fields) expect(text).toContain(`<label for="${id}">`);
    for (const refs of all(text, /aria-(?:describedby|labelledby|controls)="([^"]*)"/g))
      for (const ref of refs.split(' ')) expect(ids).toContain(ref);
  });

  test('sends the CSRF token with everything that posts to us', async () => {
    const { text } = await get(sample);
    for (const form of all(text, /(<form[^>]*method="post"[\s\S]*?<\/form>)/g)) {
      if (form.includes('action="/')) expect(form).toContain('<input type="hidden" name="_csrf" value="csrf-sample">');
      else expect(form).not.toContain('_csrf');
    }
  });

  test('escapes every text it is given', async () => {
    const hostile = `"><script>alert(1)</script>' onmouseover="alert(2)" <%= 7*7 %> \${7*7}`;
    const { text } = await get({ view: sample.view, model: poison(sample.model, hostile) } as SamplePage).expect(200);
    const plain = await get(sample).expect(200);
    const tags = (html: string) => all(html, /<script/g).length;
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('onmouseover="');
    expect(tags(text)).toBe(tags(plain.text));
    expect(text).not.toMatch(/&gt;49|[^\d]49[^\d]/);
  });
});

/** The model with every free text replaced; what code chooses from a fixed set, and times, stay. */
function poison(value: unknown, text: string, key = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => poison(item, text, key));
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, poison(item, text, name)]));
  return typeof value === 'string' && !/^(kind|tone|strategy|part|failure_reason|needs|blocked_by|origin)$|_(at|until)$/.test(key)
    ? text
    : value;
}

describe('headers', () => {
  test('of every page', async () => {
    const { headers } = await get(sampleOf('login')).expect(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    });
  });

  test('the status is the caller’s', async () => get(sampleOf('error'), { status: 429 }).expect(429));

  test('form-action names further origins once, and nothing that could add a directive', async () => {
    const formAction = [
      'https://notes.example',
      'https://notes.example',
      'com.example.app:',
      "https://x.example; script-src 'unsafe-inline'",
      '*',
      "'unsafe-inline'",
    ];
    const { headers } = await get(sampleOf('consent'), { formAction });
    expect(headers['content-security-policy']).toContain("form-action 'self' https://notes.example com.example.app:; base-uri");
  });

  test.each([
    ['https://notes.example/callback?a=1', 'https://notes.example'],
    ['http://127.0.0.1:8400/cb', 'http://127.0.0.1:8400'],
    ['http://[::1]:8400/cb', 'http:'],
    ['com.example.app:/callback', 'com.example.app:'],
  ])('form-action source of %s is %s', (uri, source) => expect(formActionSource(uri)).toBe(source));
});

describe('what pages show', () => {
  test('a failed sign-in says so in the title, keeps the address and never a password', async () => {
    const { text } = await get(sampleOf('login-failed'));
    expect(text).toContain('<title>Error: Sign in to Acme Notes');
    expect(text).toMatch(/id="email" name="email" type="email" value="ada@example.com"/);
    expect(text).toMatch(/id="password" name="password" type="password" value=""/);
    expect(text).toContain('role="alert" tabindex="-1" autofocus');
  });

  test('an invalid field is tied to its error and linked from the summary', async () => {
    const { text } = await get(sampleOf('login-invalid'));
    expect(text).toMatch(/id="email"[^>]*aria-describedby="email-error" aria-invalid="true"/);
    expect(text).toContain('<a href="#email">Email address: Enter an email address such as name@example.com.</a>');
  });

  test('connections are links, and what is pending travels on', async () => {
    const { text } = await get(sampleOf('login-client'));
    const query = '?return_to=%2Foauth%2Fauthorize%3Fclient_id%3D1';
    for (const path of ['/auth/sso/0190-google', '/register', '/password/forgot']) expect(text).toContain(`href="${path}${query}"`);
    expect(text).toContain('<input type="hidden" name="return_to" value="/oauth/authorize?client_id=1">');
    expect((await get(sampleOf('login-connections'))).text).toContain('href="/auth/sso/0190-google"');
  });

  test('without registration there is no link to it', async () => {
    const sample = sampleOf('login');
    const { text } = await get({ ...sample, model: { ...sample.model, registration_enabled: false } } as SamplePage);
    expect(text).not.toContain('/register');
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'vbscript:x', '//evil.example/x', 'https:'])(
    '%s becomes no link and no logo',
    async (uri) => {
      const sample = sampleOf('consent');
      if (sample.view !== 'oauth/consent') throw new Error('not the consent page');
      const { environment, client } = sample.model;
      const model = {
        ...sample.model,
        environment: { ...environment, logo_url: uri },
        client: { ...client, logo_uri: uri, policy_uri: uri, tos_uri: uri },
      };
      const { text } = await get({ view: 'oauth/consent', model });
      expect(text).not.toMatch(/<img|target="_blank"/);
      expect(text).not.toContain(uri === 'https:' ? 'href="https:"' : uri);
    },
  );

  test('this session can’t be ended from the list, the others can', async () => {
    const { text } = await get(sampleOf('account'));
    expect(text).not.toContain('action="/account/sessions/s1/revoke"');
    expect(text).toContain('action="/account/sessions/s2/revoke"');
    expect(text).toContain('action="/account/sessions/revoke_others"');
    expect((await get(sampleOf('account-saved'))).text).not.toContain('revoke_others');
  });

  test('the only way to sign in can’t be disconnected', async () => {
    expect((await get(sampleOf('account-saved'))).text).not.toContain('/unlink"');
    expect((await get(sampleOf('account'))).text).toContain('action="/account/identities/i1/unlink"');
  });

  test('an error among the further claims opens them', async () => {
    expect((await get(sampleOf('account-invalid'))).text).toContain('<details open>');
    expect((await get(sampleOf('account'))).text).toContain('<details>');
  });

  test('an empty value of a form_post answer is sent too', async () => {
    const sample = sampleOf('form-post');
    const { text } = await get({ ...sample, model: { ...sample.model, fields: { code: 'c', state: '' } } } as SamplePage);
    expect(text).toContain('<input type="hidden" name="state" value="">');
    expect(text).not.toContain('_csrf');
  });
});

test('basePage shows the branding, and the name and default colour where there is none', () => {
  const environment = { name: 'Default', kind: 'production', support_email: null, branding: {} } as const;
  const page = { title: 'x', request_id: 'r', csrf_token: 't' };
  expect(basePage(environment, page)).toEqual({
    ...page,
    environment: {
      name: 'Default',
      logo_url: null,
      dark_logo_url: null,
      favicon_url: null,
      policy_uri: null,
      tos_uri: null,
      support_email: null,
      kind: 'production',
    },
    theme_path: `/assets/accent/${defaultAccent}.css`,
  });
  const branding = { name: 'Acme', logo_url: 'https://acme.example/logo.svg', primary_color: '#F2C230' };
  expect(basePage({ ...environment, branding }, page)).toMatchObject({
    environment: { name: 'Acme', logo_url: branding.logo_url },
    theme_path: '/assets/accent/f2c230.css',
  });
});
