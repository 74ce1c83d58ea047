import { expect, test } from 'vitest';
import { joinDuration, splitDuration } from '../../src/dashboard/parts/forms/durations.js';

test.each([
  ['2592000', '30', 'days'],
  ['86400', '1', 'days'],
  ['90000', '25', 'hours'],
  ['3600', '1', 'hours'],
  ['900', '15', 'minutes'],
  ['61', '61', 'seconds'],
  ['0', '0', 'seconds'],
])('%s seconds are shown as %s %s, and come back as they were', (seconds, amount, unit) => {
  expect(splitDuration(seconds)).toEqual({ amount, unit });
  expect(joinDuration(amount, unit)).toBe(seconds);
});

test('what is no number comes back as it was typed, for the refusal; nothing stays nothing', () => {
  expect(joinDuration('-1', 'days')).toBe('-1');
  expect(joinDuration('1.5', 'hours')).toBe('1.5');
  expect(joinDuration('9999999999', 'days')).toBe('9999999999');
  expect(joinDuration('  ', 'days')).toBe('');
  expect(splitDuration('1.5')).toEqual({ amount: '1.5', unit: 'seconds' });
  expect(splitDuration('')).toEqual({ amount: '', unit: 'days' });
});

test('without a unit, or with one that is none, the number is seconds', () => {
  expect(joinDuration('300', undefined)).toBe('300');
  expect(joinDuration('300', 'constructor')).toBe('300');
});
