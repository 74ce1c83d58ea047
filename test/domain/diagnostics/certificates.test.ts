import { expect, test } from 'vitest';
import { certificateFault } from '../../../src/domain/diagnostics/checks/tls.js';

const now = new Date('2026-11-22T12:00:00Z');
const host = { name: 'id.example.com', port: 443 };

test.each([
  [
    'chain',
    { problem: 'chain', code: 'SELF_SIGNED', valid_to: new Date('2027-11-22') },
    'chain',
    'look',
    /^openssl s_client -connect id\.example\.com:443/,
  ],
  ['name', { problem: 'name', code: 'X', valid_to: new Date('2027-11-22') }, 'name', 'fix', /^certbot certonly -d id\.example\.com$/],
  ['end', { problem: 'expired', code: 'X', valid_to: new Date('2026-11-01') }, 'expired', 'fix', /^certbot renew/],
  ['next two weeks', { problem: null, code: null, valid_to: new Date('2026-12-05') }, 'expiring', 'fix', /^certbot renew/],
] as const)('a certificate is judged by its %s', (_what, seen, fault, line, command) => {
  const [found] = certificateFault(host, seen, now);
  expect(found).toMatchObject({ fault, [line]: expect.stringMatching(command) });
});

test('one that lasts is well', () =>
  expect(certificateFault(host, { problem: null, code: null, valid_to: new Date('2026-12-07') }, now)).toEqual([]));
