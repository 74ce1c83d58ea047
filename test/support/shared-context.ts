import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { createTestDatabase } from './database.js';
import { openContext } from './standalone.js';

/** One context for all tests of a file, on a database of its own and without a running service, whose jobs would be in the way. Its members are there from the first test on. */
export function sharedContext(): Context {
  const ctx = {} as Context;
  const endings: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    const database = await createTestDatabase();
    endings.push(() => database.drop());
    const opened = await openContext(database.url, randomBytes(32).toString('base64'));
    endings.push(() => opened.close());
    Object.assign(ctx, opened.ctx);
  });
  afterAll(async () => {
    for (const end of endings.reverse()) await end();
  });
  return ctx;
}
