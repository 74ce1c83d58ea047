// No write raises the reach of anything beyond what its actor holds: every operation of the Management API with every attribute, relationship and
// verb, by actors of random permissions, judged by a model of reach that shares nothing with the service.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { registry } from '../../src/management/resources/index.js';
import { stepsOf } from '../support/reach/steps.js';
import { startWalk, type Walk } from '../support/reach/walk.js';

let walk: Walk;
beforeAll(async () => void (walk = await startWalk()));
afterAll(() => walk?.stop());

test('no operation with any attribute raises the reach of anything beyond what its actor holds (attack 22.242)', async () => {
  const { seed, found, left } = await walk.walk(stepsOf(registry, walk.world, walk.random));
  expect({ seed, found, left }).toEqual({ seed, found: [], left: {} });
}, 600_000);
