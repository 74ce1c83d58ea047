// pg-boss at its best: inserted in bulk, fetched and completed in batches of a hundred by two loops, each batch posted at once.
import { peer } from '../peers.js';
import { post, serve, settings } from './channel.js';
import type { Message } from './courier.js';

/** What is used of pg-boss; its own types aren't installed with the project. */
type Boss = {
  on(event: 'error', listener: (error: unknown) => void): void;
  start(): Promise<void>;
  stop(options: object): Promise<void>;
  createQueue(name: string): Promise<void>;
  insert(jobs: readonly { name: string; data: object }[]): Promise<void>;
  fetch(name: string, options: { batchSize: number }): Promise<{ id: string; data: Message }[]>;
  complete(name: string, ids: readonly string[]): Promise<void>;
};

const queue = 'deliveries';
const batchSize = 100;
const loops = 2;

const PgBoss = peer('pg-boss') as new (options: object) => Boss;
const boss = new PgBoss({ connectionString: settings.databaseUrl, max: 10, supervise: false, schedule: false });
boss.on('error', (error) => console.error(error));
await boss.start();
await boss.createQueue(queue);

async function loop(): Promise<void> {
  for (;;) {
    const jobs = await boss.fetch(queue, { batchSize });
    if (jobs.length === 0) return;
    await Promise.all(jobs.map((job) => post(job.data)));
    await boss.complete(queue, jobs.map((job) => job.id)); // prettier-ignore
  }
}

let running: Promise<unknown> | null = null;
serve({
  load: (messages) => boss.insert(messages.map((data) => ({ name: queue, data }))),
  async go() {
    running = Promise.all(Array.from({ length: loops }, loop)).then(() => (running = null));
  },
  isDone: async () => running === null,
  stop: () => boss.stop({ graceful: false, wait: false }),
});
