// No configuration document raises the reach of anything beyond what whoever applies it holds: every kind of record with every attribute, secret and
// link that documents have, by actors of random permissions, judged as the walk through the operations is.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exported } from '../support/configuration.js';
import { documentStepsOf } from '../support/reach/document-steps.js';
import { startWalk, type Walk } from '../support/reach/walk.js';

let walk: Walk;
beforeAll(async () => void (walk = await startWalk()));
afterAll(() => walk?.stop());

test('no document with any attribute raises the reach of anything beyond what its actor holds (attack 22.793)', async () => {
  const steps = documentStepsOf(await exported(walk.api), walk.world, walk.random);
  const { seed, found, left } = await walk.walk(steps);
  expect({ seed, found, left }).toEqual({ seed, found: [], left: {} });
}, 1_800_000);
