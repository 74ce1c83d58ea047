import { expect, test } from 'vitest';
import { csvField, csvRecord } from '../../src/lib/csv.js';

test.each([
  ['plain', '"plain"'],
  ['', '""'],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\r\nlines', '"two\r\nlines"'],
  ['1-2', '"1-2"'],
])('%j is quoted (RFC 4180 2.5 to 2.7)', (value, field) => expect(csvField(value)).toBe(field));

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '\uff1d1', '\uff0b1', '\uff0d1', '\uff201'])(
  '%j is text to a spreadsheet, not a formula',
  (value) => expect(csvField(value)).toBe(`"'${value}"`),
);

test('a formula that also holds a quote can not leave its field', () => expect(csvField('=A1","=B1')).toBe(`"'=A1"",""=B1"`));

test('a record ends with CRLF (RFC 4180 2.1)', () => {
  expect(csvRecord(['a', 'b"c', ''])).toBe('"a","b""c",""\r\n');
  expect(csvRecord([])).toBe('\r\n');
});
