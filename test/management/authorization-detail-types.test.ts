// Types of authorization details at the Management API (RFC 9396): what can be set, what is refused, and what clients may ask for.
import { beforeAll, describe, expect, test } from 'vitest';
import { findSystemApiResource } from '../../src/db/tables/api_resources.js';
import { addResource } from '../support/data.js';
import { link, manage, type Api, type ApiAnswer, type Document } from '../support/management.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import type {} from '../support/service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const resource = shared(() => addResource(ctx));
let api: Api;
let count = 0;
beforeAll(async () => void (api = await manage(service.url)));

const amount = { name: 'amount', kind: 'money', required: true, max: 500, currency: 'EUR' };
const payee = { name: 'payee', kind: 'text' };
const attributes = (more: Document = {}): Document => ({
  name: `payment-${(count += 1)}`,
  fields: [amount, payee],
  sentence: { en: 'Pay {amount} to {payee}' },
  ...more,
});
const create = (more: Document = {}, api_resource = resource.id) =>
  api.attempt('authorization_detail_types', attributes(more), { api_resource: link('api_resource', api_resource) }); // prettier-ignore
const change = (id: string, changes: Document) => api.update('authorization_detail_types', id, changes);
const refusal = ({ status, body }: ApiAnswer) => [status, body['errors']?.[0].code, body['errors']?.[0].source?.pointer];
const at = (place: string) => `/data/attributes/${place}`;

test('has defaults, can be changed but for its name and API, and goes with that', async () => {
  const { status, body } = await create();
  expect([status, body['data'].attributes]).toMatchObject([201, { remember: false, status: 'enabled', fields: [amount, payee] }]);
  const { id, attributes: before } = body['data'] as { id: string; attributes: Document };
  const changes = { remember: true, status: 'disabled', sentence: { de: '{amount} an {payee} zahlen' } };
  expect((await change(id, changes)).body['data'].attributes).toMatchObject(changes);
  expect(refusal(await change(id, { name: 'other' }))).toEqual([403, 'attribute_read_only', at('name')]);
  expect(refusal(await create({ name: before['name'] }))).toEqual([409, 'already_exists', at('name')]);
  const other = await addResource(ctx, { identifier: 'https://goes.example' });
  const gone = (await create({}, other.id)).body['data'].id as string;
  expect((await api.delete(`/api_resources/${other.id}`)).status).toBe(204);
  expect((await api.get(`/authorization_detail_types/${gone}`)).status).toBe(404);
  expect((await api.delete(`/authorization_detail_types/${id}`)).status).toBe(204);
});

test('is never of the Management API (specification 23.1.1)', async () => {
  const management = await findSystemApiResource(ctx.scope);
  expect(refusal(await create({}, management?.id))).toEqual([403, 'system_record', undefined]);
});

describe('a sentence shows every field, whatever they hold (specification 23.1.4, attack 58.1786)', () => {
  const access = { name: 'access', kind: 'choice', required: true, choices: ['read', 'write'] };
  const number = { name: 'count', kind: 'number', required: true };
  const cases: [string, Document[], string][] = [
    ['that omits a field', [amount, payee], 'Pay {amount}'],
    ['that omits it in a branch', [access, payee], '{access, select, read {Read of {payee}} write {Write} other {?}}'],
    ['that hides a choice', [access], '{access, select, read {Read} other {Use}}'],
    ['that says nothing of a choice', [access], '{access, select, read {Read} write {} other {Use}}'],
    ['that chooses by what may be absent', [{ ...access, required: false }], '{access, select, read {Read} write {Write} other {?}}'],
    ['that counts what is no number', [amount], '{amount, plural, other {#}}'],
    ['that does not say how many', [number], '{count, plural, other {some}}'],
    ['that names something else', [amount], 'Pay {amount} to {payee}'],
    ['that writes a value in a way of its own', [number], '{count, number, ::.00}'],
    ['that can not be read', [amount], 'Pay {amount'],
    ['with directions of writing', [amount], 'Pay \u202e{amount}'],
  ];
  test.for(cases)('one %s is 422', async ([, fields, text]) => {
    expect(refusal(await create({ fields, sentence: { en: text } }))).toEqual([422, 'invalid_value', at('sentence/en')]);
  });

  test('plurals and choices that say all are taken; a change of fields is held against the sentence', async () => {
    const text = '{access, select, read {Read} write {Change} other {Use}} {count, plural, one {# file} other {# files}}';
    const { status, body } = await create({ fields: [access, number], sentence: { en: text } });
    expect(status).toBe(201);
    expect(refusal(await change(body['data'].id, { fields: [access, number, payee] }))).toEqual([422, 'invalid_value', '/data/attributes']);
  });

  test('in no language, or in one that pages have not, it is 422', async () => {
    expect((await create({ sentence: {} })).status).toBe(422);
    expect((await create({ sentence: { tlh: '{amount} {payee}' } })).status).toBe(422);
  });
});

test.for<[string, Document[], string, string]>([
  ['two fields of a name', [payee, payee], 'duplicate_value', 'fields/1/name'],
  ['choices without a choice', [{ ...payee, choices: ['a'] }], 'invalid_value', 'fields/0'],
  ['a choice without choices', [{ name: 'payee', kind: 'choice' }], 'invalid_value', 'fields/0'],
  ['a longer list than any', [{ ...payee, list: true, max: 51 }], 'invalid_value', 'fields/0'],
  ['a longer text than any', [{ ...payee, max: 1001 }], 'invalid_value', 'fields/0'],
  ['a greatest amount of no currency (attack 58.1791)', [{ name: 'payee', kind: 'money', max: 5 }], 'invalid_value', 'fields/0'],
  ['a currency of what is no money', [{ ...payee, currency: 'EUR' }], 'invalid_value', 'fields/0'],
  ['a currency that there is not', [{ name: 'payee', kind: 'money', currency: 'XXQ' }], 'invalid_value', 'fields/0'],
  ['a greatest day', [{ name: 'payee', kind: 'date', max: 5 }], 'invalid_value', 'fields/0'],
])('fields with %s are 422', async ([, fields, code, place]) => {
  expect(refusal(await create({ fields, sentence: { en: '{payee}' } }))).toEqual([422, code, at(place)]);
});

test.for(['type', '__proto__', 'Payee', 'a b', ''])('no field is called %j', async (name) => {
  expect((await create({ fields: [{ name, kind: 'text' }], sentence: { en: 'x' } })).status).toBe(422);
});

test('a client lists what it may ask for, by registration too (RFC 9396 10)', async () => {
  const client = await api.create('clients', {
    name: 'Shop',
    application_type: 'machine',
    authorization_details_types: ['payment'],
  });
  expect(client['attributes'].authorization_details_types).toEqual(['payment']);
  await api.update('environments', ctx.environment.id, { dynamic_registration_enabled: true });
  const register = async (authorization_details_types: unknown) =>
    fetch(`${service.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://shop.example/cb'], authorization_details_types }),
    });
  const answer = await register(['payment']);
  expect([answer.status, await answer.json()]).toMatchObject([201, { authorization_details_types: ['payment'] }]);
  expect((await register('payment')).status).toBe(400);
});
