// What a server, a disk and a mail server are told to be wrong with, and what is named to mend it or to look closer.
import { expect, test } from 'vitest';
import { serverFaults } from '../../../src/domain/diagnostics/checks/database.js';
import { diskFault } from '../../../src/domain/diagnostics/checks/disk.js';
import { mailServerFault } from '../../../src/domain/diagnostics/checks/mail.js';
import { inspectConfig } from '../../../src/config.js';

const { config } = inspectConfig({ DATABASE_POOL_MAX: '40' });
const state = { major: 18, fsync: true, connections: 10, connections_max: 97, in_recovery: false };

test.each([
  ['is of an earlier major', { major: 14 }, 'version', 'DATABASE_URL'],
  ['is of a later major', { major: 19 }, 'version', 'DATABASE_URL'],
  ['is a standby', { in_recovery: true }, 'standby', 'DATABASE_URL'],
  [
    'does not wait for its disk',
    { fsync: false },
    'fsync',
    `psql "$DATABASE_URL" -c 'alter system set fsync = on' -c 'select pg_reload_conf()'`,
  ],
  ['has few connections left', { connections: 90 }, 'connections', 'DATABASE_POOL_MAX=20'],
] as const)('a database that %s', (_what, said, fault, fix) => {
  expect(serverFaults({ config }, { ...state, ...said })).toMatchObject([{ fault, fix }]);
});

test('a database that is well', () => expect(serverFaults({ config }, state)).toEqual([]));

test('a disk: du looks where DATA_DIR is, or would be', () => {
  const look = "du -xh --max-depth=2 '/srv/two words' | sort -h | tail -n 20";
  const of = (free: number) => diskFault(free, '/srv/two words/data', '/srv/two words');
  expect(of(0.019)).toMatchObject([{ fault: 'full', look }]);
  expect(of(0.02)).toMatchObject([{ fault: 'short', look }]);
  expect(of(0.1)).toEqual([]);
});

test.each([
  ['dns', 'away', { fix: 'SMTP_URL' }],
  ['connect', 'away', { fix: 'SMTP_URL' }],
  ['greeting', 'away', { fix: 'SMTP_URL' }],
  ['tls', 'tls', { look: 'openssl s_client -starttls smtp -connect mail.example.com:587 </dev/null' }],
  ['authentication', 'authentication', { fix: 'SMTP_URL' }],
  ['protocol', 'refused', { fix: 'SMTP_URL' }],
] as const)('a mail server that fails at %s', (step, fault, named) => {
  const found = mailServerFault('smtp://user:the-password@mail.example.com', { step, code: 535 });
  expect(found).toMatchObject({ fault, ...named });
  expect(JSON.stringify(found)).not.toContain('the-password');
});

test('TLS from the first byte has no STARTTLS', () =>
  expect(mailServerFault('smtps://mail.example.com', { step: 'tls', code: null }).look).toBe(
    'openssl s_client -connect mail.example.com:465 </dev/null',
  ));
