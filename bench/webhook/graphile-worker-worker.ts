// graphile-worker at its best: added in bulk, a local queue of a hundred, completions in batches.
import pg from 'pg';
import { peer } from '../peers.js';
import { inFlight, post, serve, settings } from './channel.js';
import type { Message } from './courier.js';

/** What is used of graphile-worker; its own types aren't installed with the project. */
type Graphile = { run(options: object): Promise<{ stop(): Promise<void> }>; Logger: new (factory: () => () => void) => object };

const { run, Logger } = peer('graphile-worker') as Graphile;
const runner = await run({
  connectionString: settings.databaseUrl,
  noHandleSignals: true,
  logger: new Logger(() => () => undefined),
  taskList: { deliver: (payload: unknown) => post(payload as Message) },
  preset: {
    worker: { concurrentJobs: inFlight, maxPoolSize: 10, localQueue: { size: 200 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  },
});
const client = new pg.Client({ connectionString: settings.databaseUrl });
await client.connect();

serve({
  async load(messages) {
    await client.query('begin');
    await client.query(
      `select count(*) from graphile_worker.add_jobs(
         (select array_agg(row('deliver', m, null, null, null, null, null, null)::graphile_worker.job_spec) from json_array_elements($1::json) m))`,
      [JSON.stringify(messages)],
    );
  },
  go: async () => void (await client.query('commit')),
  async isDone() {
    const { rows } = await client.query<{ left: boolean }>('select exists (select from graphile_worker._private_jobs) as left');
    return rows[0]?.left === false;
  },
  async stop() {
    await runner.stop();
    await client.end();
  },
});
