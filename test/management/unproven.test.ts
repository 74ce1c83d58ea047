import { expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { addUser } from '../support/data.js';
import { manage, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

const proven = { phone_number: '+442079460000', phone_number_verified: true, email_verified: true };

async function patched(id: string, attributes: Document): Promise<Document> {
  const answer = await api.update('users', id, attributes);
  expect(answer.status).toBe(200);
  return (answer.body['data'] as Document)['attributes'] as Document;
}

test('a PATCH of email makes it unproven, unless the same request says otherwise (attack 11.269)', async () => {
  const user = await addUser(await service.context(), proven);
  const moved = await patched(user.id, { email: `moved-${user.email}` });
  expect([moved['email_verified'], moved['phone_number_verified']]).toEqual([false, true]);
  expect((await patched(user.id, { email: `known-${user.email}`, email_verified: true }))['email_verified']).toBe(true);
  expect((await patched(user.id, { email: `KNOWN-${user.email}` }))['email_verified']).toBe(true);
  expect((await patched(user.id, { nickname: 'Countess' }))['email_verified']).toBe(true);
});

test('a PATCH of phone_number makes it unproven, unless the same request says otherwise (attack 11.269)', async () => {
  const user = await addUser(await service.context(), proven);
  const changed = await patched(user.id, { phone_number: '+442079460001' });
  expect([changed['email_verified'], changed['phone_number_verified']]).toEqual([true, false]);
  expect((await patched(user.id, { phone_number: '+442079460002', phone_number_verified: true }))['phone_number_verified']).toBe(true);
  expect((await patched(user.id, { phone_number: '+442079460002' }))['phone_number_verified']).toBe(true);
  expect((await patched(user.id, { phone_number: null }))['phone_number_verified']).toBe(false);
});

test('the dashboard form that moves an address leaves the old tick behind', async () => {
  const user = await addUser(await service.context(), proven);
  const browser = await signedInWith(service, 'users:read', 'users:write');
  const page = `/dashboard/users/${user.id}/edit`;
  const version = /name="_version" value="(\d+)"/.exec(await (await browser.get(page)).text())?.[1] ?? '';
  const fields = { _version: version, email: `form-${user.email}`, email_verified: 'on', first_name: 'Ada', last_name: 'Lovelace' };
  const saved = await browser.submit(page, fields, `/dashboard/users/${user.id}`);
  expect(saved.headers.get('location')).toContain('done=updated');
  const read = await api.get(`/users/${user.id}`);
  expect((read.body['data'] as Document)['attributes']).toMatchObject({ email: `form-${user.email}`, email_verified: false });
});
