import { expect, test } from 'vitest';
import { checks } from '../../src/domain/diagnostics/checks/index.js';
import { sharedDiagnosis, type CheckResult } from '../../src/domain/diagnostics/diagnose.js';
import { installationOf } from '../../src/domain/diagnostics/own-installation.js';
import { signedInWith } from '../support/administrators.js';
import { freePort } from '../support/service.js';
import { manage, secondEnvironment } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';
import { addWebhook } from '../support/webhooks.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));
const outside = shared(() => secondEnvironment(api));

test('an operator is told of every check, with what mends it and without a secret (attack 34.711)', async () => {
  const ctx = await service.context();
  const { webhook, signing_secret } = await addWebhook(ctx, `http://127.0.0.1:${await freePort()}/hook?key=hidden`);
  const { status, body, text } = await api.get('/diagnostics');
  expect([status, Object.keys(body).sort()]).toEqual([200, ['jsonapi', 'links', 'meta']]);
  const { status: worst, checks: results } = body['meta'] as { status: string; checks: CheckResult[] };
  expect(['warning', 'problem']).toContain(worst);
  expect([...new Set(results.map(({ id }) => id))]).toEqual(Object.keys(checks));
  expect(results.find(({ subject }) => subject === `webhooks/${webhook.id}`)?.fix).toContain('--status disabled');
  for (const secret of [service.secretKey, signing_secret, 'hidden', new URL(service.databaseUrl).password])
    expect(text).not.toContain(secret);
});

test('somebody of another environment is told nothing, whatever they may do there (attack 34.710)', async () => {
  const { status, body } = await outside.api.get('/diagnostics');
  expect([status, body['errors'][0].code, body['meta']]).toEqual([403, 'operators_only', undefined]);
});

test('who asks at the same time shares one look (attack 34.714)', async () => {
  let made = 0;
  const make = () => {
    made += 1;
    return installationOf(service.deps);
  };
  const answers = await Promise.all(Array.from({ length: 10 }, () => sharedDiagnosis(service.deps.db.knex, make)));
  expect(made).toBe(1);
  expect(new Set(answers).size).toBe(1);
  await sharedDiagnosis(service.deps.db.knex, make);
  expect(made).toBe(2);
});

test('the page: the worst first, the fix to copy, names as text (attack 34.713)', async () => {
  const ctx = await service.context();
  await addWebhook(ctx, `http://127.0.0.1:${await freePort()}/`, { name: '<script>alert(1)</script>' });
  const browser = await signedInWith(service, 'diagnostics:read');
  const answer = await browser.get('/dashboard/doctor');
  const html = await answer.text();
  expect(answer.status).toBe(200);
  expect(html).toMatch(/<title>[^<]*(problem|warning)s?[^<]*Diagnostics/);
  expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  expect(html).not.toContain('<script>alert');
  expect(html).toMatch(/webhooks update [0-9a-f-]+ --status disabled<\/code>/);
  expect(html.indexOf('data-tone="warning"')).toBeLessThan(html.indexOf('Other checks'));
  expect(html).toMatch(/href="\/dashboard\/webhooks\/[0-9a-f-]+">Open the record/);
  expect(html).toMatch(/aria-current="page"[^>]*>(?:(?!<\/a>)[^])*Advanced/);
});

test('without the permission there is neither page nor way to it; nor in another environment (attack 34.710)', async () => {
  const browser = await signedInWith(service, 'webhooks:read');
  expect(await (await browser.get('/dashboard')).text()).not.toContain('/dashboard/doctor');
  expect((await browser.get('/dashboard/doctor')).status).toBe(403);
});
