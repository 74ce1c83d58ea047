// A process that has no file descriptor left and asks the database, given by its address. Prints what each way of asking throws.
import { closeSync, openSync } from 'node:fs';
import { createKnex } from '../../src/db/connection/knex.js';
import { createScope, run } from '../../src/db/scope.js';

const knex = createKnex({ url: process.argv[2] as string, poolMax: 2 });
const scope = createScope(knex, '00000000-0000-7000-8000-000000000000');
const ways = {
  'a query of the pool': () => knex.raw('select 1'),
  'a transaction': () => knex.transaction((trx) => trx.raw('select 1')),
  'a look-up of a line': () => run(scope, { name: 'test.look_up', text: 'select $1::uuid', short: 'look_up' }, []),
  'a write of a line': () =>
    run(scope, { name: 'test.write', text: 'select $1::uuid, $2::text', short: { kind: 'write', key: 2 } }, ['key']),
};

async function outcomes(): Promise<Record<string, string>> {
  const told: Record<string, string> = {};
  for (const [way, ask] of Object.entries(ways)) {
    told[way] = await ask().then(
      () => 'answered',
      (error: Error & { cause?: Error & { code?: string; cause?: { code?: string } } }) =>
        `${error.constructor.name} ${error.cause?.code ?? error.cause?.cause?.code}`,
    );
  }
  return told;
}

// What is loaded lazily is loaded, and then no connection is open.
const warm = createKnex({ url: process.argv[2] as string, poolMax: 2 });
await warm.raw('select 1');
await warm.destroy();
const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
}
const without = await outcomes();
for (const descriptor of taken) closeSync(descriptor);
const again = await outcomes();
await knex.destroy();
process.stdout.write(JSON.stringify({ without, again }));
