// Documents that make what single creations make at the same moment: both hold the number of each kind until they are committed.
import { expect, test } from 'vitest';
import { processLocksOf } from '../../../src/db/connection/knex.js';
import { apply, plan } from '../../support/configuration.js';
import { manage } from '../../support/management.js';
import { contextOf, sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);

const stream = { url: 'https://siem.example.com/', format: 'native', sources: ['audit_logs'], status: 'paused' };
const documentOf = (name: string, locale: string) => ({
  version: 1,
  log_streams: [{ ...stream, name }],
  mail_templates: [{ name: 'register_code', locale, subject: 'Code', text: '{{ code }}' }],
  page_texts: [{ key: 'login.title', locale, text: name }],
});

test('documents and single creations of the same kinds at once are all answered as each would be alone, and told of once', async () => {
  const api = await manage(service.url);
  const created = (path: string, type: string, attributes: object) => api.post(path, { data: { type, attributes } });
  const answers = await Promise.all([
    ...['de', 'fr', 'es', 'it'].map((locale) => apply(api, documentOf(`Applied ${locale}`, locale))),
    plan(api, documentOf('Planned', 'nl')),
    ...[1, 2, 3, 4].map((n) => created('/log_streams', 'log_stream', { ...stream, name: `Single ${n}` })),
    ...['de', 'fr'].map((locale) => created('/page_texts', 'page_text', { key: 'register.title', locale, text: 'Single' })),
    created('/mail_templates', 'mail_template', { name: 'register_code', locale: null, subject: 'Code', text: '{{ code }}' }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([...Array<number>(5).fill(200), ...Array<number>(7).fill(201)]);
  for (const [kind, count] of Object.entries({ log_stream: 8, mail_template: 5, page_text: 6 })) {
    const there = await ctx.db.knex(`${kind}s`).pluck('id');
    expect([kind, there.length]).toEqual([kind, count]);
    const told = await ctx.db
      .knex('audit_logs')
      .where({ action: `${kind}.created` })
      .pluck('target_id');
    expect([kind, told.sort()]).toEqual([kind, there.sort()]);
  }
  expect(processLocksOf(service.deps.db.knex).state().length).toBe(0);
});
