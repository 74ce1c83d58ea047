// No write raises the reach of anything beyond what its actor holds: every operation of the Management API with every attribute, relationship and
// verb, deletions among them, by actors of random permissions of this API and somebody's own, judged by a model of reach that shares nothing with the service.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { registry } from '../../src/management/resources/index.js';
import type { Resource } from '../../src/management/resource.js';
import { securityEventsOf } from '../../src/management/write-security-events.js';
import { stepsOf } from '../support/reach/steps.js';
import { startWalk, type Walk } from '../support/reach/walk.js';

let walk: Walk;
beforeAll(async () => void (walk = await startWalk()));
afterAll(() => walk?.stop());

test('no operation with any attribute raises the reach of anything beyond what its actor holds (attack 22.242)', async () => {
  const { seed, found, left } = await walk.walk(stepsOf(registry, walk.world, walk.random));
  expect({ seed, found, left }).toEqual({ seed, found: [], left: {} });
}, 1_800_000);

/** `type.name` of every attribute that can be written, and relationship that can be changed, unless it is said to decide nothing. */
function guardsOf(resource: Resource): string[] {
  const settable = [...Object.keys(resource.create?.schema.shape ?? {}), ...Object.keys(resource.update?.schema.shape ?? {})];
  const attributes = [...new Set(settable)].filter((name) => resource.reach.attributes[name] !== 'plain');
  const links = Object.entries(resource.relationships).filter(
    ([, one]) => one.kind === 'many' && one.change && one.change.touch !== 'plain',
  );
  return [...attributes, ...links.map(([name]) => name)].map((name) => `${resource.type}.${name}`);
}

test('every write of the walk that changed what guards something left a security event (attack 35.1015)', async () => {
  const guards = new Set([...registry.byPath.values()].flatMap(guardsOf));
  const rows = walk.audited.filter(({ outcome }) => outcome === 'success');
  const told = new Set(rows.filter(({ event }) => event !== null).map(({ request_id }) => request_id));
  const writes = rows.filter(({ event }) => event === null);
  const guarding = writes.flatMap((row) => {
    const changed = Object.keys(row.changes)
      .map((name) => `${row.target_type}.${name}`)
      .filter((name) => guards.has(name));
    return changed.length > 0 ? [{ ...row, changed }] : [];
  });
  // People who come and go change nothing that guards; what signs them in is changed afterwards.
  const untold = guarding.filter(({ action, request_id }) => !told.has(request_id) && !/^user\.(created|deleted)$/.test(action));
  expect(untold.map(({ action, changed }) => `${action}: ${changed.join(' ')}`)).toEqual([]);
  const walked = new Set(guarding.flatMap(({ changed }) => changed));
  console.log(`guards: ${walked.size} of ${guards.size} attributes and relationships changed in ${guarding.length} writes`);
  // The callers are drawn: now and then one of a few attributes is changed by nobody.
  expect(walked.size).toBeGreaterThan(guards.size * 0.9);
});

test('each attribute and relationship that guards something makes an event by itself: of people and members it is the domain that tells', () => {
  const silent = [...registry.byPath.values()].flatMap((resource) =>
    guardsOf(resource).filter((name) => {
      const changes = { [name.split('.')[1] ?? '']: [null, 'changed'] as [unknown, unknown] };
      return securityEventsOf({ resource, action: 'updated', target_id: 'one', changes }).length === 0;
    }),
  );
  const told = (name: string) => name === 'user.roles' || /^(?:authenticator|organization_membership|organization_invitation)\./.test(name);
  expect(silent.filter((name) => !told(name))).toEqual([]);
});
