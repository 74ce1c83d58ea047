import { expect, test } from 'vitest';
import { errorText, errorTexts, fieldErrorTexts } from '../../../src/http/pages/error-texts.js';
import { wordsIn } from '../../../src/http/pages/words.js';
import { scopeText } from '../../../src/http/pages/scope-texts.js';

const english = wordsIn('en');

test('each text is a sentence that fits a form', () => {
  for (const [code, text] of Object.entries(errorTexts)) {
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(text).toMatch(/^[A-Z].{10,140}\.$/);
  }
});

test('a code without a sentence gets a general one', () => {
  expect(errorText('no_such_code')).toBe(errorTexts.invalid_value);
  expect(errorText('constructor')).toBe(errorTexts.invalid_value);
});

test('field codes become sentences, the minimum length included', () =>
  expect(
    fieldErrorTexts(english, { password: ['password_too_short', 'password_common'], email: ['required'] }, { password_min_length: 12 }),
  ).toEqual({ password: `Choose a password of at least 12 characters. ${errorTexts.password_common}`, email: errorTexts.required }));

test('scopes are put in words: ours, the permission’s description, or the bare name', () => {
  expect(scopeText(english, 'email', 'something else')).toBe('See your email address');
  expect(scopeText(english, 'notes:write', 'Change your notes')).toBe('Change your notes');
  expect(['notes:write', 'constructor'].map((name) => scopeText(english, name))).toEqual(['notes:write', 'constructor']);
});
