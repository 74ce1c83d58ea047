import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { shared } from '../../support/shared-service.js';

const database = shared(
  () => createTestDatabase(),
  (made) => made.drop(),
);

test('a process without a file descriptor for a connection says that the database is unavailable, and recovers (fault F36)', async () => {
  const command = [process.execPath, '--import', 'tsx', 'test/support/without-descriptors.ts', database.url];
  const { stdout } = await promisify(execFile)('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...command]);
  const each = (outcome: string) => ({
    'a query of the pool': outcome,
    'a transaction': outcome,
    'a look-up of a line': outcome,
    'a write of a line': outcome,
  });
  expect(JSON.parse(stdout)).toEqual({ without: each('Unavailable EMFILE'), again: each('answered') });
});
