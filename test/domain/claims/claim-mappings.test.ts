import { expect, test } from 'vitest';
import type { ClaimMapping } from '../../../src/db/tables/clients.js';
import { maxClaimMappings, mappedClaims } from '../../../src/domain/claims/claim-mappings.js';

const mappings = Array.from({ length: maxClaimMappings }, (_, index): ClaimMapping => ({
  claim: `c${index}`,
  in: ['access_token'],
  source: 'permissions',
}));

/** Permissions that count how often somebody asks what they are as JSON. */
function counted(count: number): { permissions: string[]; asked: () => number } {
  let asked = 0;
  const names = Array.from({ length: count }, (_, index) => `permission:number:${index}`);
  const permissions = Object.assign([...names], { toJSON: () => ((asked += 1), names) });
  return { permissions, asked: () => asked };
}

test('how long a value is counts for each mapping and is looked at once, however many draw on it (attack 18.1080)', () => {
  const many = counted(10_000);
  expect(mappedClaims(mappings, 'access_token', { user: null, permissions: many.permissions })).toEqual({});
  expect(many.asked()).toBe(1);
  const few = counted(100);
  expect(Object.keys(mappedClaims(mappings, 'access_token', { user: null, permissions: few.permissions }))).toEqual(['c0', 'c1', 'c2']);
  expect(few.asked()).toBe(1);
});
