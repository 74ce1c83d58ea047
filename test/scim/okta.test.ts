// Requests as Okta's documentation prints them ("SCIM 2.0 protocol reference").
import { describe, expect, test } from 'vitest';
import { findMembership } from '../../src/domain/organizations/memberships.js';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { addDirectory } from '../support/directories.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const okta = shared(() => addDirectory(ctx, 'okta.example', { display_name: 'Okta Ltd' }));

const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const patchOp = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

const person = (name: string) => ({
  schemas: [userSchema],
  userName: `${name}@okta.example`,
  name: { givenName: 'Test', familyName: 'User' },
  emails: [{ primary: true, value: `${name}@okta.example`, type: 'work' }],
  displayName: 'Test User',
  locale: 'en-US',
  externalId: `00ujl29u0le5T6Aj10h7-${name}`,
  groups: [],
  password: '1mz050nq',
  active: true,
});

const provision = async (name: string) => (await okta.send('POST', '/Users', person(name))).body as { id: string };
const account = async (name: string) => (await findUserByEmailKey(ctx.scope, `${name}@okta.example`))!;

describe('Okta', () => {
  test('looks whether the user is there, and creates them; the password is ignored', async () => {
    const none = await okta.send('GET', '/Users?filter=userName%20eq%20%22test.user%40okta.example%22&startIndex=1&count=100');
    expect(none.body).toMatchObject({ totalResults: 0, startIndex: 1, Resources: [] });
    const made = await okta.send('POST', '/Users', person('test.user'));
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ userName: 'test.user@okta.example', displayName: 'Test User', locale: 'en-US', active: true });
    expect(made.body).not.toHaveProperty('password');
    expect(await account('test.user')).toMatchObject({ password_hash: null, first_name: 'Test', last_name: 'User' });
    const again = await okta.send('POST', '/Users', person('test.user'));
    expect(again).toMatchObject({ status: 409, body: { status: '409', scimType: 'uniqueness' } });
  });

  test('replaces a user as a whole, with what is read-only in it', async () => {
    const { id } = await provision('put');
    const read = (await okta.send('GET', `/Users/${id}`)).body as Record<string, unknown>;
    const { displayName: _name, ...rest } = read;
    const answer = await okta.send('PUT', `/Users/${id}`, {
      ...rest,
      id: 'another',
      name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id, name: { givenName: 'Another', middleName: 'Excited', familyName: 'User' } });
    expect(answer.body).not.toHaveProperty('displayName');
    expect(await account('put')).toMatchObject({ first_name: 'Another', middle_name: 'Excited', last_name: 'User' });
  });

  test('deactivates and activates by PATCH without a path, and by PUT', async () => {
    const { id } = await provision('active');
    const set = (active: boolean) =>
      okta.send('PATCH', `/Users/${id}`, { schemas: [patchOp], Operations: [{ op: 'replace', value: { active } }] });
    expect((await set(false)).body.active).toBe(false);
    expect((await account('active')).status).toBe('blocked');
    expect((await okta.send('PUT', `/Users/${id}`, person('active'))).body.active).toBe(true);
    const { id: user_id, status } = await account('active');
    expect(status).toBe('active');
    expect((await findMembership(ctx, okta.organization.id, user_id))?.status).toBe('active');
    expect((await okta.send('PUT', `/Users/${id}`, { ...person('active'), active: false })).body.active).toBe(false);
    expect((await account('active')).status).toBe('blocked');
  });

  test('pushes a group, renames it, changes its members, replaces and removes it', async () => {
    const one = await provision('one');
    const two = await provision('two');
    const made = await okta.send('POST', '/Groups', { schemas: [groupSchema], displayName: 'Test SCIMv2', members: [] });
    expect(made.status).toBe(201);
    const { id } = made.body as { id: string };
    expect((await okta.send('GET', '/Groups?startIndex=1&count=100')).body.Resources).toContainEqual(
      expect.objectContaining({ id, members: [] }),
    );
    const rename = { op: 'replace', value: { id, displayName: 'Test SCIMv2 Rename' } };
    expect((await okta.send('PATCH', `/Groups/${id}`, { schemas: [patchOp], Operations: [rename] })).status).toBe(204);
    const add = { op: 'add', path: 'members', value: [{ value: one.id, display: 'one@okta.example' }, { value: two.id }] };
    expect((await okta.send('PATCH', `/Groups/${id}`, { schemas: [patchOp], Operations: [add] })).status).toBe(204);
    const members = async () =>
      ((await okta.send('GET', `/Groups/${id}`)).body.members as { value: string }[]).map(({ value }) => value).sort();
    expect(await members()).toEqual([one.id, two.id].sort());
    const swap = [{ op: 'remove', path: `members[value eq "${one.id}"]` }, add, { op: 'remove', path: `members[value eq "${two.id}"]` }];
    expect((await okta.send('PATCH', `/Groups/${id}`, { schemas: [patchOp], Operations: swap })).status).toBe(204);
    expect(await members()).toEqual([one.id]);
    const put = await okta.send('PUT', `/Groups/${id}`, {
      schemas: [groupSchema],
      id,
      displayName: 'Test',
      members: [{ value: two.id, display: 'x' }],
    });
    expect(put).toMatchObject({ status: 200, body: { id, displayName: 'Test', members: [{ value: two.id, type: 'User' }] } });
    expect((await okta.send('GET', `/Users/${two.id}`)).body.groups).toEqual([
      { value: id, $ref: `${okta.url}/Groups/${id}`, display: 'Test', type: 'direct' },
    ]);
    expect((await okta.send('DELETE', `/Groups/${id}`)).status).toBe(204);
    expect((await okta.send('GET', `/Users/${two.id}`)).body).not.toHaveProperty('groups');
  });
});
