import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.js';
import { SkippedForWantOfAProgram } from './test/support/skipped-tests.js';

/** Without a database: pure functions, a router or a client by itself. */
const unit = [
  'test/{config,linear-patterns,tidy}.test.ts',
  'test/bin/**',
  'test/chaos/{schedule,rules/rules}.test.ts',
  'test/lib/**',
  'test/platform/**',
  'test/domain/diagnostics/{certificates,forwarded-notes,machines}.test.ts',
  'test/domain/events/catalogue.test.ts',
  'test/domain/mail/template-problems.test.ts',
  'test/domain/mail/templates.test.ts',
  'test/domain/passwords/*.test.ts',
  'test/db/connection/statement-summary.test.ts',
  'test/docs/{error-codes,generated,sso-guide}.test.ts',
  'test/http/{exact-routes,private-parts}.test.ts',
  'test/http/limits/rate-limits.test.ts',
  'test/http/pages/*.test.ts',
  'test/oauth/grant-params.test.ts',
  'test/outbox/queue/lane.test.ts',
  'test/outbox/webhooks/{deliver,sign}.test.ts',
  'test/programs/doctor.test.ts',
];

/** With processes of their own (browsers, proxies, replicas, a second PostgreSQL), or for long walks, waiting and measuring; from whatever folder. */
const slow = [
  'test/browser/**',
  'test/faults/**',
  'test/chaos/chaos.test.ts',
  'test/account/timing.test.ts',
  'test/dashboard/hostile-text.test.ts',
  'test/db/connection/knex.test.ts',
  'test/db/postgres/embedded-postgres.test.ts',
  'test/docs/{configuration,webhooks}-guide.test.ts',
  'test/flows/{behind-a-pooler,behind-a-proxy,doctor,doctor-fixes,read-replica,secret-key-rotations}.test.ts',
  'test/invariants/{cost-of-addresses,cost-of-forms,cost-of-requests,reach,reach-documents,replicas,two-processes}.test.ts',
  'test/management/fuzz.test.ts',
  'test/platform/log/logger.test.ts',
  'test/platform/silent-mail-server.test.ts',
  'test/programs/{backup,backup-drill,backup-embedded,migrate,rekey,upgrade}.test.ts',
  'test/sso/hanging-provider.test.ts',
];

const filesOf = (paths: readonly string[]) => paths.map((path) => path.replace(/\*\*$/, '**/*.test.ts'));
const except = (...paths: readonly string[]) => [...configDefaults.exclude, ...paths];
const database = {
  globalSetup: ['test/support/postgres.ts', 'test/support/compiled.ts'],
  setupFiles: ['test/support/row-guard.ts'],
};

export default defineConfig({
  test: {
    pool: 'forks',
    // The files of a project take turns in the same processes, which load the service once.
    isolate: false,
    // Sources that were compiled once are kept below node_modules, by a digest of what they contain.
    experimental: { fsModuleCache: true },
    // Two more than there are processors: many tests wait for what they see. Four is what one PostgreSQL serves gladly.
    maxWorkers: Math.min(4, availableParallelism() + 2),
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    // A shared machine may stall for seconds; what fails twice more is broken.
    retry: process.env['CI'] ? 2 : 0,
    // No test imports them: `--changed` can't tell whom they concern.
    forceRerunTriggers: [...configDefaults.forceRerunTriggers, '**/{migrations,public,views}/**'],
    reporters: ['default', new SkippedForWantOfAProgram()],
    projects: [
      { extends: true, test: { name: 'unit', include: filesOf(unit), exclude: except(...slow) } },
      // Whatever isn't listed above: endpoints and operations on a real PostgreSQL, each file on a database of its own.
      { extends: true, test: { name: 'service', include: filesOf(['test/**']), exclude: except(...unit, ...slow), ...database } },
      { extends: true, test: { name: 'slow', include: filesOf(slow), ...database } },
    ],
  },
});
