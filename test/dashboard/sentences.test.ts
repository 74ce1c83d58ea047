// What happened, in words: every security event, every reason and every operation has a sentence of its own.
import { expect, test } from 'vitest';
import { bareEntry, operationsOf } from '../../src/dashboard/parts/activity/choices.js';
import type { ActivityEntry } from '../../src/dashboard/parts/activity/entry.js';
import { storedNames } from '../../src/dashboard/parts/activity/names.js';
import { nounOf, operationWords } from '../../src/dashboard/parts/activity/operations.js';
import { activitySentence } from '../../src/dashboard/parts/activity/sentences.js';
import { securityEventReasons } from '../../src/lib/security-event.js';
import { securityEvents, type SecurityEventName } from '../../src/lib/security-events.js';
import { operationNames } from '../../src/management/audit.js';
import { endpoints } from '../../src/management/calls/index.js';
import { resources } from '../../src/management/resources/index.js';
import { registryOf, type Resource } from '../../src/management/resource.js';

const registry = registryOf(resources as unknown as readonly Resource[]);
const names = Object.keys(securityEvents) as SecurityEventName[];
const ada = { type: 'user', id: '01a208da-918a-77e3-81af-f4dd2ff1fdde', display: 'Ada Lovelace' };
const lena = { type: 'user', id: '01a208da-918a-77e3-81af-f4dd2ff1fddf', display: 'Lena Vogel' };

const said = (event: SecurityEventName, entry: Partial<ActivityEntry> = {}) => activitySentence(bareEntry(event, entry), storedNames);
const done = (operation: string, entry: Partial<ActivityEntry> = {}) =>
  activitySentence(
    { ...bareEntry('management.denied'), event: null, outcome: 'success', actor: ada, target: lena, operation, ...entry },
    storedNames,
  );

/** A sentence for people: no code, nothing left to fill in, no full stop. */
function expectWords(text: string): void {
  expect(text).toMatch(/^[A-Z][^_{}]*[^_{}.:\s]$/);
  expect(text).not.toMatch(/undefined|null|\[object|\b[a-z]+\.[a-z]+\b/);
}

test.each(names)('%s has its sentence', (name) => {
  const { text, tone } = said(name);
  expectWords(text);
  const { severity, outcome } = securityEvents[name];
  if (severity === 'critical') expect(tone).toBe('bad');
  if (outcome !== 'success') expect(tone).not.toMatch(/good|quiet/);
});

test('no two events have the same sentence', () => {
  const texts = names.map((name) => said(name).text);
  expect(texts.filter((text, at) => texts.indexOf(text) !== at)).toEqual([]);
});

test.each(securityEventReasons)('a sign-in or an operation refused for %s says so, and what to do', (reason) => {
  const { text, fix } = said('login.failed', { reason });
  expectWords(text);
  expect(text).not.toBe(said('login.failed').text);
  if (!['system_record', 'configuration'].includes(reason)) expect(fix).toMatch(/^[A-Z].*\.$/);
  expect(said('management.denied', { reason, operation: 'client.updated', actor: ada }).text).toBe(
    'Ada Lovelace was not allowed to change the client',
  );
});

test('a reason that only a page has is said as the page says it, and an unknown one isn’t said', () => {
  expect(said('login.failed', { reason: 'too_many_requests' }).text).not.toContain('too_many_requests');
  expect(said('login.failed', { reason: 'of_a_newer_release' }).text).toBe('Sign-in refused');
});

const operations = [...operationsOf(registry), 'config.applied'];
const tried = [
  ...operations,
  ...[...registry.byType.keys()].map((type) => `${type}.${operationNames.read()}`),
  ...endpoints.map(({ group, name }) => `${group}.${name}`),
];

test.each(tried)('%s is told when it was done and when it was denied', (operation) => {
  expect(operationWords(operation)).not.toBeNull();
  expectWords(done(operation).text);
  expect(done(operation).text).toMatch(/ by Ada Lovelace$/);
  const refused = done(operation, { outcome: 'denied', reason: 'insufficient_scope' });
  expectWords(refused.text);
  expect(refused).toMatchObject({ tone: 'bad', fix: expect.stringContaining('A permission is missing.') as string });
});

test('operations are those that the service has', () => {
  expect(operations).toEqual(expect.arrayContaining(['client.secret_rotated', 'user.blocked', 'role.updated', 'session.revoked', 'consent.withdrawn', 'logo.created'])); // prettier-ignore
  expect(operations).not.toContain('event_type.created');
  expect(nounOf('api_resource')).toBe('API resource');
});

test('sentences name who it was, how, and until when', () => {
  expect(done('user.blocked').text).toBe('Blocked by Ada Lovelace');
  expect(
    activitySentence({ ...bareEntry('authenticator.removed'), actor: lena, detail: { kind: 'totp' } }, storedNames, lena.id).text,
  ).toBe('Authenticator app removed');
  expect(said('client_secret.rotated', { actor: ada }).text).toBe('Client secret rotated by Ada Lovelace');
  expect(said('client_secret.rotated', { actor: ada, operation: 'client.secret_rotated' }).text).toBe(
    'Client secret rotated by Ada Lovelace',
  );
  expect(said('client_secret.rotated', { actor: { type: 'system', id: null, display: 'The service' } }).text).toBe(
    'Client secret rotated by the service',
  );
  expect(said('login.succeeded', { detail: { amr: ['pwd', 'otp', 'mfa'], new_device: true } }).text).toBe(
    'Signed in with password and code in a new browser',
  );
  expect(said('login.failed', { reason: 'second_step', detail: { method: 'totp' } }).text).toBe('Wrong code from the authenticator app');
  expect(said('account.locked', { detail: { locked_until: '2026-11-24T14:20:00.000Z' } }).text).toBe('Locked until 14:20 UTC');
  expect(said('role.assigned', { actor: ada, detail: { roles: ['editor', 'clerk'] } }).text).toBe(
    'Roles given: editor and clerk by Ada Lovelace',
  );
});
