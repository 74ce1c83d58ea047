// Types of authorization details (RFC 9396) in the dashboard: their fields are lines of words.
import { expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { manage } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();

test('fields are a line each, which is read as it is shown; a line of another form is told', async () => {
  const api = await manage(service.url);
  const resource = await api.create('api_resources', { identifier: 'https://bank.example', name: 'Bank' });
  const names = ['api_resources:read', 'authorization_detail_types:read', 'authorization_detail_types:write'];
  const browser = await signedInWith(service, ...names);
  const _csrf = csrfOf(await (await browser.get('/dashboard/authorization_detail_types/new')).text());
  const add = (fields: string) =>
    browser.post('/dashboard/authorization_detail_types', {
      _csrf,
      api_resource: String(resource['id']),
      name: 'payment',
      fields,
      'sentence.en': 'Pay {amount} to {payee} by {way}',
      status: 'enabled',
    });
  const wrong = ['amount', 'amount gold', 'amount money max', 'amount money max 1.5', 'amount money often', 'amount money max 5 EUR USD'];
  for (const line of wrong) {
    const answer = await add(`${line}\npayee text\nway text`);
    expect([line, answer.status, (await answer.text()).includes('A line has the form')]).toEqual([line, 422, true]);
  }
  const written = 'amount money required max 500 EUR\npayee  text list max 3\nway choice required = card, = bank ';
  expect((await add(written)).status).toBe(303);
  const [type] = (await api.get('/authorization_detail_types')).body['data'] as { id: string; attributes: Record<string, unknown> }[];
  expect(type?.attributes['fields']).toEqual([
    expect.objectContaining({ name: 'amount', kind: 'money', required: true, max: 500, currency: 'EUR' }),
    expect.objectContaining({ name: 'payee', kind: 'text', list: true, max: 3 }),
    expect.objectContaining({ name: 'way', kind: 'choice', required: true, choices: ['card', '= bank'] }),
  ]);
  const form = await (await browser.get(`/dashboard/authorization_detail_types/${type?.id}/edit`)).text();
  expect(form).toContain('amount money required max 500 EUR\npayee text list max 3\nway choice required = card, = bank</textarea>');
});
