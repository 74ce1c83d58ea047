import { expect, test } from 'vitest';
import { requirementOf, unmetOf } from '../../../src/domain/proofs/sign-in-requirement.js';

const now = new Date('2026-11-22T12:00:00Z');
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000);

test('of a client and an API resource the higher class and the shorter age count', () => {
  const none = { required_acr: null, max_authentication_age: null };
  expect(requirementOf()).toEqual({ acr: null, max_age: null });
  expect(requirementOf(none, null, undefined)).toEqual({ acr: null, max_age: null });
  expect(requirementOf({ required_acr: 'phr', max_authentication_age: 600 }, { required_acr: '2', max_authentication_age: 60 })).toEqual({
    acr: 'phr',
    max_age: 60,
  });
  expect(requirementOf({ required_acr: '2', max_authentication_age: null }, { ...none, max_authentication_age: 0 })).toEqual({
    acr: '2',
    max_age: 0,
  });
});

test.each([
  [{ acr: null, max_age: null }, '1', null, null],
  [{ acr: '2', max_age: null }, '1', ago(0), 'acr'],
  [{ acr: '2', max_age: null }, 'phr', null, null],
  [{ acr: 'phr', max_age: null }, '2', ago(0), 'acr'],
  [{ acr: null, max_age: 600 }, '1', ago(600), null],
  [{ acr: null, max_age: 600 }, '1', ago(601), 'max_age'],
  [{ acr: null, max_age: 600 }, '1', null, 'max_age'],
  [{ acr: '2', max_age: 600 }, '1', ago(900), 'acr'],
] as const)('%j of a sign-in of class %s at %s lacks %s', (demand, acr, auth_time, lack) => {
  expect(unmetOf(demand, acr, auth_time, now)).toBe(lack);
});
