// Set-up links as administrators make them: of what, for how long, by whom, and what becomes of them.
import { expect, test } from 'vitest';
import { addOrganization } from '../../support/invitations.js';
import { manage, type Api, type Document } from '../../support/management.js';
import { addSetupLink, askForSetupLink, openedBy } from '../../support/setup-links.js';
import { shared, sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
const api: Api = shared(() => manage(service.url));

const errorOf = ({ status, body }: { status: number; body: Document }) => [status, body['errors']?.[0]?.code];
const at = (record: Document) => `/setup_links/${record['id']}`;
const statusOf = async (record: Document) => (await api.get(at(record))).body['data'].attributes.status;

test('a link is made, shown once, listed by status and revoked (specification 16.9.1, 16.9.2)', async () => {
  const { organization, record } = await addSetupLink(api, ['domains', 'directory'], { expires_in: 3600 });
  expect(record['attributes']).toMatchObject({ parts: ['domains', 'directory'], status: 'pending', started_at: null, finished_at: null });
  expect(record['attributes'].url).toMatch(new RegExp(`^${service.url}/setup/su_[\\w-]{43}$`));
  expect(record['attributes']).not.toHaveProperty('expires_in');
  const shown = (await api.get(at(record))).body['data'].attributes;
  expect(shown).not.toHaveProperty('url');
  expect(JSON.stringify(shown)).not.toMatch(/su_|digest/);
  const list = async (filter: string) =>
    (await api.get(`/setup_links?filter[organization]=${organization['id']}&${filter}`)).body['data'] as Document[];
  expect(await list('filter[status]=pending')).toHaveLength(1);
  expect(await list('filter[status]=started,finished,expired,revoked')).toHaveLength(0);
  expect((await api.patch(`${at(record)}/revoke`)).body['data'].attributes.status).toBe('revoked');
  expect(await list('filter[status]=revoked')).toHaveLength(1);
  expect(errorOf(await api.patch(`${at(record)}/revoke`))).toEqual([409, 'invalid_transition']);
});

test('the list tells started, finished and expired links apart (specification 16.9.2)', async () => {
  const link = await addSetupLink(api);
  const browser = await openedBy(service.url, link);
  expect(await statusOf(link.record)).toBe('started');
  expect((await browser.submit(link.inside, {}, `${link.inside}/finish`)).status).toBe(200);
  expect(await statusOf(link.record)).toBe('finished');
  expect(errorOf(await api.patch(`${at(link.record)}/revoke`))).toEqual([409, 'invalid_transition']);
});

test.each([
  ['no parts', { parts: undefined }, 'required'],
  ['an empty list of parts', { parts: [] }, 'too_short'],
  ['an unknown part', { parts: ['members'] }, 'invalid_value'],
  ['a part twice', { parts: ['domains', 'domains'] }, 'duplicate_value'],
  ['too short a time', { expires_in: 3599 }, 'too_short'],
  ['too long a time', { expires_in: 2_592_001 }, 'too_long'],
])('%s is refused (specification 16.9.1)', async (_what, attributes, code) => {
  const [status, found] = errorOf(await askForSetupLink(api, await addOrganization(api), attributes));
  expect([status, found]).toEqual([422, expect.stringMatching(new RegExp(`${code}|too_|invalid_`))]);
});

test('whoever does not hold what administrators of organizations hold makes no link (attack 49.1410)', async () => {
  const organization = await addOrganization(api);
  const narrow = await manage(service.url, 'setup_links:write setup_links:read organizations:read');
  expect(errorOf(await askForSetupLink(narrow, organization, { parts: ['domains'] }))).toEqual([403, 'scope_escalation']);
  const record = (await askForSetupLink(api, organization)).body['data'];
  expect((await narrow.get(at(record))).status).toBe(200);
  expect((await narrow.patch(`${at(record)}/revoke`)).status).toBe(200);
  const reader = await manage(service.url, 'setup_links:read');
  expect(errorOf(await reader.patch(`${at(record)}/revoke`))).toEqual([403, 'insufficient_scope']);
});

test('a link can not be changed or deleted, and goes with its organization (specification 16.9.1)', async () => {
  const { organization, record } = await addSetupLink(api);
  const change = { data: { type: 'setup_link', id: record['id'], attributes: { parts: ['domains'] } } };
  expect((await api.patch(at(record), change)).status).toBe(405);
  expect((await api.delete(at(record))).status).toBe(405);
  expect((await api.delete(`/organizations/${organization['id']}`)).status).toBe(204);
  expect((await api.get(at(record))).status).toBe(404);
});
