// A process that starts the embedded PostgreSQL as the service does: for tests that kill it, or run it from a checkout of its own.
import { pino } from 'pino';
import { EmbeddedPostgresError, startEmbeddedPostgres } from '../../src/db/postgres/embedded/embedded-postgres.js';

const [dataDir = '', systemDir = ''] = process.argv.slice(2);
const settings = { fsync: 'off' };

try {
  const { url, stop } = await startEmbeddedPostgres({ dataDir, logger: pino({ level: 'silent' }), settings, systemDirs: [systemDir] });
  process.once('SIGTERM', () => void stop().then(() => process.exit(0)));
  setInterval(() => undefined, 60_000);
  process.stdout.write(`${JSON.stringify({ url })}\n`);
} catch (error) {
  if (!(error instanceof EmbeddedPostgresError)) throw error;
  process.stdout.write(`${JSON.stringify({ refusal: error.message })}\n`);
}
