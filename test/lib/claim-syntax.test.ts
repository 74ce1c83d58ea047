import { describe, expect, test } from 'vitest';
import { isBirthdate, isLocale, isTimeZone, isWebAddress, normalizePhoneNumber } from '../../src/lib/claim-syntax.js';

describe('web addresses', () => {
  test.each(['https://example.com', 'HTTP://example.com:8080/a?b#c', 'https://xn--bcher-kva.example/'])('%s can be linked', (text) => {
    expect(isWebAddress(text)).toBe(true);
  });

  test.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://example.com',
    'example.com',
    '//example.com',
    ' https://example.com',
    'https:example.com',
    'https://',
    'https://user@example.com',
    'https://:pw@example.com',
    'java\nscript:https://example.com',
    `https://example.com/${'x'.repeat(2048)}`,
  ])('%j can not', (text) => expect(isWebAddress(text)).toBe(false));
});

describe('birthdates (OIDC Core 5.1)', () => {
  test.each(['1815-12-10', '2000-02-29', '0000-02-29', '0000-12-31', '1815'])('%s is one', (text) => expect(isBirthdate(text)).toBe(true));

  test.each([
    '1900-02-29',
    '2001-02-29',
    '1815-13-01',
    '1815-00-10',
    '1815-12-32',
    '0000',
    '0999',
    '15-12-10',
    '1815-12',
    '1815-12-10Z',
    '',
  ])('%j is none', (text) => expect(isBirthdate(text)).toBe(false));
});

describe('time zones (OIDC Core 5.1)', () => {
  test.each(['Europe/Paris', 'America/Argentina/Buenos_Aires', 'UTC', 'Etc/GMT+1'])('%s is one', (text) => {
    expect(isTimeZone(text)).toBe(true);
  });

  test.each(['Mars/Olympus', '+01:00', '', 'Europe/Paris ', '../etc/passwd', `A${'a'.repeat(64)}`])('%j is none', (text) => {
    expect(isTimeZone(text)).toBe(false);
  });
});

describe('locales (BCP 47)', () => {
  test.each(['en', 'en-US', 'en_US', 'zh-Hant-TW', 'sr-Latn'])('%s is one', (text) => expect(isLocale(text)).toBe(true));

  test.each(['', 'e', 'en-', 'en US', 'english-language-of-the-north', `en-${'x-abcdefgh-'.repeat(8)}a`])('%j is none', (text) => {
    expect(isLocale(text)).toBe(false);
  });
});

describe('phone numbers (E.164)', () => {
  test.each([
    ['+1 (604) 555-1234', '+16045551234'],
    ['0044 20.7946.0000', '+442079460000'],
    ['+16045551234', '+16045551234'],
    ['+12345', '+12345'],
    ['+123456789012345', '+123456789012345'],
  ])('%j becomes %s', (text, number) => expect(normalizePhoneNumber(text)).toBe(number));

  test.each(['6045551234', '+0 604 555 1234', '+1234', '+1234567890123456', '+1 604 555 CALL', '++16045551234', ''])('%j is none', (text) =>
    expect(normalizePhoneNumber(text)).toBeNull(),
  );
});
