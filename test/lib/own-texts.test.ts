// What an environment may say in the place of a built-in text: plain words with the placeholders that the page has, and nothing that does more.
import { describe, expect, test } from 'vitest';
import { languageTags } from '../../src/lib/languages/languages.js';
import { catalogueOf, format, formatToPieces, message, type MessageKey } from '../../src/lib/languages/messages.js';
import {
  createOwnTexts,
  isPageTextKey,
  pageTextKeys,
  placeholdersOf,
  textProblem,
  type StoredText,
} from '../../src/lib/languages/own-texts.js';

const problem = (key: MessageKey, text: string) => textProblem(key, 'en', text)?.code ?? null;
const ownTexts = (texts: Partial<Record<MessageKey, string>>, locale: StoredText['locale'] = 'en') => {
  const unusable: string[] = [];
  const stored = Object.entries(texts).map(([key, text]) => ({ id: key, key, locale, text }));
  return { own: createOwnTexts(stored, ({ key }, { code }) => unusable.push(`${key} ${code}`)), unusable };
};

test.each(languageTags)('every built-in text could be one of an environment: %s', (tag) => {
  const catalogue = catalogueOf(tag);
  expect(pageTextKeys().flatMap((key) => textProblem(key, tag, catalogue[key]) ?? [])).toEqual([]);
});

describe('a text', () => {
  test('names what the built-in one names, or less', () => {
    expect(problem('login.title_for', 'Welcome to {client}')).toBeNull();
    expect(problem('login.title_for', 'Welcome')).toBeNull();
    expect(problem('verify.remember', 'Trust this browser for {days, plural, =1 {a day} one {# day} other {# days}}')).toBeNull();
    expect(problem('verify.remember', 'Trust this browser for {days} days')).toBeNull();
    expect(placeholdersOf('verify.remember')).toEqual([{ name: 'days', counts: true, needed: false }]);
  });

  test.each([
    ['login.title', 'Sign in to {client}', 'unknown_variable'],
    ['login.title_for', 'Sign in to {cliant}', 'unknown_variable'],
    ['login.title_for', '{constructor}{__proto__}', 'unknown_variable'],
    ['login.title_for', 'To {password}', 'unknown_variable'],
  ] as const)('%s with a placeholder that isn’t the page’s, %j: %s (attack 39.816)', (key, text, code) => {
    expect(problem(key, text)).toBe(code);
  });

  test('with a placeholder that is nearly right is told the right one', () =>
    expect(textProblem('login.title_for', 'en', 'Sign in to {cliant}')?.detail).toContain('did you mean {client}?'));

  test.each([
    ['\u2800', 'invalid_text'],
    ['\u200f', 'invalid_text'],
    ['\u0301', 'invalid_text'],
    [`a${'\u0301'.repeat(7)}`, 'invalid_characters'],
    [`Sign in${'\u0489'.repeat(400)}`, 'invalid_characters'],
  ])('that shows nothing, or covers what is around it, is refused: %j as %s (attack 39.859)', (text, code) => {
    expect(problem('login.title', text)).toBe(code);
    expect(problem('login.title', 'Đăng nhập ﷺ สู่ระบบ ❤️ a\u0301\u0302')).toBeNull();
  });

  test.each([
    ['verify.remember', '{days, plural, other {{days, plural, other {{days, plural, other {x}}}}}}', 'invalid_text'],
    ['verify.remember', '{days, plural, offset:1 other {#}}', 'invalid_text'],
    ['verify.remember', '{days, selectordinal, other {#th}}', 'invalid_text'],
    ['verify.remember', '{days, plural, one {a day}}', 'invalid_text'],
    ['verify.remember', '{days, number, ::currency/EUR}', 'invalid_text'],
    ['verify.remember', '{days, select, other {x}}', 'invalid_text'],
    ['login.title_for', '{client, plural, other {x}}', 'invalid_text'],
    ['login.title_for', '{client, date, full}', 'invalid_text'],
    ['login.title_for', '{client}'.repeat(3), 'invalid_text'],
    ['login.title_for', '{client}'.repeat(62), 'invalid_text'],
    ['login.title_for', '{'.repeat(500), 'invalid_text'],
    ['login.title_for', 'To {client', 'invalid_text'],
    ['login.title', 'x'.repeat(501), 'invalid_text'],
    ['login.title', ' x', 'invalid_text'],
    ['login.title', '', 'invalid_text'],
  ] as const)('of %s that does more than count, is nested, or grows, %j, is refused (attack 39.815)', (key, text, code) => {
    expect(problem(key, text)).toBe(code);
  });

  test.each([
    ['<b>Sign in</b>', 'markup_not_allowed'],
    ['Sign in <script>alert(1)</script>', 'markup_not_allowed'],
    ['Sign&nbsp;in', 'markup_not_allowed'],
    ['&#60;b', 'markup_not_allowed'],
    ['Sign\nin', 'invalid_characters'],
    ['Sign\u0000in', 'invalid_characters'],
    ['Sign \u202eni', 'invalid_characters'],
    ['\u2067Sign in\u2069', 'invalid_characters'],
    ['Sign\u200bin', 'invalid_characters'],
  ])('with markup, or characters that nobody sees or that turn a line around, %j: %s (attack 39.813)', (text, code) => {
    expect(problem('login.title', text)).toBe(code);
  });

  test('where people decide whom they let in names whom, and where it leads (attack 39.817)', () => {
    expect(problem('consent.going_on', 'Signed in as {email}. Take it back in {account}.')).toBe('variable_required');
    expect(problem('consent.asks', 'Please allow this:')).toBe('variable_required');
    expect(problem('consent.asks', 'May {client} do this?')).toBeNull();
  });

  test.each([
    ['approval.title', 'A request waits for you', 'Let {client} go on?'],
    ['provider_access.title', 'Allow access to your {provider} account?', '{client}: your {provider} account?'],
    ['provider_access.asks', 'We need access to your account:', '{client} at {provider}:'],
    ['invitation.for', 'This is for you.', 'For {email}.'],
    ['invitation.title', 'Join us', 'Welcome to {organization}'],
    ['invitation.by', '{inviter} invites you.', '{organization}: {inviter} invites you.'],
    ['link.title', 'Enter your password', 'Connect {provider}'],
    ['link.again', 'Enter your password once more.', '{provider} once more'],
  ] as const)('of %s can’t hide who gets something, or whom somebody joins (attack 69.1941)', (key, hidden, told) => {
    expect([problem(key, hidden), problem(key, told)]).toEqual(['variable_required', null]);
  });
});

test('a key that is the name of a prototype, or of a mail, is none (attack 39.814)', () => {
  expect(['constructor', '__proto__', 'toString', 'login', 'login.', 'LOGIN.TITLE', 'mail.greeting'].filter(isPageTextKey)).toEqual([]);
  expect(pageTextKeys()).toContain('login.title');
});

describe('texts of an environment', () => {
  test('come before the built-in ones, in their language alone', () => {
    const { own } = ownTexts({ 'login.title': 'Welcome' });
    expect([format('en', 'login.title', {}, own), format('de', 'login.title', {}, own)]).toEqual(['Welcome', 'Anmelden']);
    expect(format('en', 'login.title')).toBe('Sign in');
  });

  test('are used for messages in messages, and in pieces, where markup in a value stays a value', () => {
    const { own } = ownTexts({
      'refusal.app_code_wrong': 'No.',
      'common.sentences': '{second} {first}',
      'logout.signed_in_as': 'You: {email}!',
    });
    const values = { first: message('refusal.app_code_wrong'), second: message('refusal.attempts_left', { count: 1 }) };
    expect(format('en', 'common.sentences', values, own)).toBe('One attempt is left. No.');
    const pieces = formatToPieces('en', 'logout.signed_in_as', { email: { strong: '<b>' } }, own);
    expect(pieces).toEqual(['You: ', { strong: '<b>' }, '!']);
  });

  test('count in their language, and keep values apart that run the other way', () => {
    const { own } = ownTexts({ 'refusal.attempts_left': '{count, plural, one {# раз} few {# рази} many {# разів} other {# разу}}' }, 'uk');
    expect([1, 2, 5].map((count) => format('uk', 'refusal.attempts_left', { count }, own))).toEqual(['1 раз', '2 рази', '5 разів']);
    const arabic = ownTexts({ 'logout.asked': 'الخروج من {client}؟' }, 'ar');
    expect(format('ar', 'logout.asked', { client: 'Acme' }, arabic.own)).toBe('الخروج من \u2068Acme\u2069؟');
  });

  test('that don’t fit any more give way to the built-in ones, which is told once', () => {
    const { own, unusable } = ownTexts({ 'login.title': 'To {client}', 'login.title_for': 'To {' });
    expect([1, 2].map(() => format('en', 'login.title', {}, own))).toEqual(['Sign in', 'Sign in']);
    expect(format('en', 'login.title_for', { client: 'Acme' }, own)).toBe('Sign in to Acme');
    expect(unusable).toEqual(['login.title unknown_variable', 'login.title_for invalid_text']);
  });
});
