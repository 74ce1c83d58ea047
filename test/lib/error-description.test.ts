import { expect, test } from 'vitest';
import { OAuthError } from '../../src/errors.js';
import { errorDescription } from '../../src/lib/error-description.js';

test('what is no visible ASCII, or would end the quotes, is replaced (RFC 6749 5.2)', () =>
  expect(errorDescription('it’s "so\\: ü\r\nX-Y: z')).toBe("it's 'so': ???X-Y: z"));

test('a challenge can be sent, whatever it says (RFC 6750 3)', () => {
  const { headers } = OAuthError.invalid_token('a person’s\r\nSet-Cookie: x');
  expect(() => new Headers(headers)).not.toThrow();
  expect(headers['WWW-Authenticate']).toContain(`error_description="a person's??Set-Cookie: x"`);
});
