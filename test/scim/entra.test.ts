// Requests as Microsoft Entra ID's documentation prints them ("Develop and plan provisioning for a SCIM endpoint").
import { describe, expect, test } from 'vitest';
import { findMembership } from '../../src/domain/organizations/memberships.js';
import { findUserByEmailKey } from '../../src/db/tables/users.js';
import { addDirectory } from '../support/directories.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const entra = shared(() => addDirectory(ctx, 'testuser.com', { display_name: 'Contoso' }));
const json = { 'Content-Type': 'application/scim+json; charset=utf-8' };

const userSchemas = ['urn:ietf:params:scim:schemas:core:2.0:User', 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'];
const patchOp = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

const person = (name: string, more: Record<string, unknown> = {}) => ({
  schemas: userSchemas,
  externalId: `0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef-${name}`,
  userName: `${name}@testuser.com`,
  active: true,
  emails: [{ primary: true, type: 'work', value: `${name}@testuser.com` }],
  meta: { resourceType: 'User' },
  name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
  roles: [],
  ...more,
});

const provision = async (name: string) => (await entra.send('POST', '/Users', person(name), json)).body as { id: string };
const account = async (name: string) => (await findUserByEmailKey(ctx.scope, `${name}@testuser.com`))!;

describe('Entra ID', () => {
  test('tests its connection by looking for somebody whom there is not (specification 16.6.5)', async () => {
    const answer = await entra.send('GET', `/Users?filter=userName+eq+"Test_User_dfeef4c5-5681-4387-b016-bdf221e82081"`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/scim+json');
    expect(answer.body).toEqual({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      totalResults: 0,
      startIndex: 1,
      itemsPerPage: 0,
      Resources: [],
    });
  });

  test('creates a user, who is a member of the organization then', async () => {
    const answer = await entra.send('POST', '/Users', person('create'), json);
    expect(answer.status).toBe(201);
    const { id } = answer.body;
    expect(answer.headers.get('location')).toBe(`${entra.url}/Users/${id}`);
    expect(answer.headers.get('etag')).toBe('W/"1"');
    expect(answer.body).toMatchObject({
      userName: 'create@testuser.com',
      active: true,
      name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
      emails: [{ value: 'create@testuser.com', type: 'work', primary: true }],
      meta: { resourceType: 'User', location: `${entra.url}/Users/${id}`, version: 'W/"1"' },
    });
    const user = await account('create');
    expect(user).toMatchObject({
      email_verified: true,
      first_name: 'givenName',
      last_name: 'familyName',
      password_hash: null,
      status: 'active',
    });
    expect(await findMembership(ctx, entra.organization.id, user.id)).toMatchObject({ status: 'active', source: 'directory' });
  });

  test('reads a user by id and by userName', async () => {
    const { id } = await provision('read');
    expect((await entra.send('GET', `/Users/${id}`)).body.userName).toBe('read@testuser.com');
    const found = await entra.send('GET', '/Users?filter=userName eq "READ@testuser.com"');
    expect(found.body).toMatchObject({ totalResults: 1, Resources: [{ id }] });
  });

  test('changes attributes of several values, and some of one', async () => {
    const { id } = await provision('patch');
    const answer = await entra.send('PATCH', `/Users/${id}`, {
      schemas: [patchOp],
      Operations: [
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updated@testuser.com' },
        { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
      ],
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      emails: [{ value: 'updated@testuser.com', type: 'work', primary: true }],
      name: { familyName: 'updatedFamilyName', givenName: 'givenName' },
    });
    expect(await account('updated')).toMatchObject({ last_name: 'updatedFamilyName', email_verified: true });
    expect(await findUserByEmailKey(ctx.scope, 'patch@testuser.com')).toBeNull();
  });

  test('changes the userName alone', async () => {
    const { id } = await provision('rename');
    const answer = await entra.send('PATCH', `/Users/${id}`, {
      schemas: [patchOp],
      Operations: [{ op: 'Replace', path: 'userName', value: '5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com' }],
    });
    expect(answer.body).toMatchObject({ userName: '5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com' });
    expect(await account('rename')).not.toBeNull();
  });

  test('adds what is not there yet, and paths as names of a value', async () => {
    const { id } = await provision('add');
    const enterprise = userSchemas[1]!;
    const answer = await entra.send('PATCH', `/Users/${id}`, {
      schemas: [patchOp],
      Operations: [
        { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 555 0100' },
        { op: 'Add', path: `${enterprise}:manager`, value: '2819c223-7f76-453a-919d-413861904646' },
        {
          op: 'Add',
          value: { 'name.givenName': 'Grace', [`${enterprise}:department`]: 'Navy', displayName: 'Grace Hopper', unheardOf: 1 },
        },
      ],
    });
    expect(answer.body).toMatchObject({
      phoneNumbers: [{ type: 'mobile', value: '+1 555 0100' }],
      name: { givenName: 'Grace', familyName: 'familyName' },
      displayName: 'Grace Hopper',
      [enterprise]: { department: 'Navy', manager: { value: '2819c223-7f76-453a-919d-413861904646' } },
    });
    expect(answer.body.schemas).toEqual(userSchemas);
    expect(answer.body).not.toHaveProperty('unheardOf');
    const removed = await entra.send('PATCH', `/Users/${id}`, {
      schemas: [patchOp],
      Operations: [
        { op: 'Remove', path: `${enterprise}:manager` },
        { op: 'Remove', path: `${enterprise}:department` },
        { op: 'Remove', path: 'phoneNumbers[type eq "mobile"]' },
        { op: 'Remove', path: 'phoneNumbers[type eq "mobile"]' },
      ],
    });
    expect(removed.status).toBe(200);
    expect(removed.body).not.toHaveProperty('phoneNumbers');
    expect(removed.body).not.toHaveProperty([enterprise]);
  });

  test('disables a user, as a truth value and as a text, and lets them in again', async () => {
    const { id } = await provision('disable');
    const set = (value: unknown) =>
      entra.send('PATCH', `/Users/${id}`, { schemas: [patchOp], Operations: [{ op: 'Replace', path: 'active', value }] });
    expect((await set('False')).body.active).toBe(false);
    const blocked = await account('disable');
    expect(blocked).toMatchObject({ status: 'blocked', blocked_reason: 'directory' });
    expect((await findMembership(ctx, entra.organization.id, blocked.id))?.status).toBe('suspended');
    expect((await set(true)).body.active).toBe(true);
    expect(await account('disable')).toMatchObject({ status: 'active', blocked_reason: null });
    expect((await findMembership(ctx, entra.organization.id, blocked.id))?.status).toBe('active');
  });

  test('deletes a user, who is not found from then on, and finds them again', async () => {
    const { id } = await provision('delete');
    expect((await entra.send('DELETE', `/Users/${id}`)).status).toBe(204);
    const gone = await entra.send('GET', `/Users/${id}`);
    expect(gone.status).toBe(404);
    expect(gone.body).toEqual({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: '404',
      detail: 'There is no such User.',
    });
    const user = await account('delete');
    expect(user).toMatchObject({ status: 'blocked', blocked_reason: 'directory' });
    expect(await findMembership(ctx, entra.organization.id, user.id)).toBeNull();
    expect((await provision('delete')).id).not.toBe(id);
    expect(await account('delete')).toMatchObject({ id: user.id, status: 'active' });
  });

  test('creates a group, finds it without its members, and gives and takes members', async () => {
    const made = await entra.send('POST', '/Groups', {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName: 'displayName',
      meta: { resourceType: 'Group' },
    });
    expect(made.status).toBe(201);
    const { id } = made.body;
    const found = await entra.send('GET', `/Groups?excludedAttributes=members&filter=displayName eq "displayName"`);
    expect(found.body).toMatchObject({ totalResults: 1, Resources: [{ id, displayName: 'displayName' }] });
    const members = [(await provision('one')).id, (await provision('two')).id, (await provision('three')).id];
    const patch = (op: string, value: unknown) =>
      entra.send('PATCH', `/Groups/${id}`, { schemas: [patchOp], Operations: [{ op, path: 'members', value }] });
    expect((await patch('Add', members.map((value) => ({ $ref: null, value })))).status).toBe(204); // prettier-ignore
    const renamed = {
      schemas: [patchOp],
      Operations: [{ op: 'Replace', path: 'displayName', value: '1879db59-3bdf-4490-ad68-ab880a269474updatedDisplayName' }],
    };
    expect((await entra.send('PATCH', `/Groups/${id}`, renamed)).status).toBe(204);
    expect((await patch('Remove', [{ $ref: null, value: members[0] }])).status).toBe(204);
    const left = await entra.send('GET', `/Groups/${id}`);
    expect(left.body.members.map(({ value }: { value: string }) => value).sort()).toEqual([members[1], members[2]].sort());
    const isMember = (member: string | undefined) =>
      entra.send('GET', `/Groups?filter=id eq "${id}" and members.value eq "${member}"&excludedAttributes=members`);
    expect((await isMember(members[0])).body.totalResults).toBe(0);
    expect((await isMember(members[1])).body.totalResults).toBe(1);
    expect((await entra.send('DELETE', `/Groups/${id}`)).status).toBe(204);
    expect((await entra.send('GET', `/Groups/${id}`)).status).toBe(404);
  });
});
