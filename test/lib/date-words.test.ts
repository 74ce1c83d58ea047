import { expect, test } from 'vitest';
import { dateTimeWords, dateWords } from '../../src/lib/date-words.js';

test('a date is told in UTC, whatever the time zone of the text', () => {
  expect(dateWords('2026-11-21T09:05:59.999Z')).toBe('21 November 2026');
  expect(dateWords('2026-11-21T00:30:00+01:00')).toBe('20 November 2026');
});

test('a time has two digits for hours and minutes, and names its zone', () => {
  expect(dateTimeWords('2026-11-21T09:05:59.999Z')).toBe('21 November 2026 at 09:05 UTC');
  expect(dateTimeWords('2026-01-01T00:00:00Z')).toBe('1 January 2026 at 00:00 UTC');
});
