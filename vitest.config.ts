import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.js';
import { SkippedForWantOfAProgram } from './test/support/skipped-tests.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether a walk goes all of its way: in `npm run test:slow`. */
    isWhole: boolean;
  }
}

/** Without a database: pure functions, a router or a client by itself. */
const unit = [
  'test/{config,linear-patterns,tidy,tidy-names}.test.ts',
  'test/bin/**',
  'test/chaos/{schedule,rules/rules}.test.ts',
  'test/lib/**',
  'test/platform/**',
  'test/domain/diagnostics/{certificates,machines}.test.ts',
  'test/domain/{claims,notes,passwords,proofs}/**',
  'test/domain/events/catalogue.test.ts',
  'test/domain/mail/template-problems.test.ts',
  'test/domain/mail/templates.test.ts',
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

/** The main paths of people in a real browser: signing in, registering, passkeys, consent, signing out, an administrator's first application. */
const browser = ['test/browser/{client-wizard,oauth-pages,registration,sign-in-methods}.test.ts'];

/** Both run them: `npm test` goes a part of their way (`inject('isWhole')`), `npm run test:slow` all of it. */
const partly = ['test/browser/registration.test.ts', 'test/flows/token-preview.test.ts'];

/** What `npm test` leaves to `npm run test:slow`. */
const slow = [
  // Every page in every form and language, by a browser.
  'test/browser/!(client-wizard|oauth-pages|registration|sign-in-methods).test.ts',
  // Walks: every operation, form, page, permission and text, generated.
  'test/linear-patterns.test.ts',
  'test/dashboard/{hostile-text,lists}.test.ts',
  'test/invariants/{canaries,cost-of-addresses,cost-of-forms,cost-of-requests,inherited-names,reach,reach-documents,table-functions}.test.ts',
  'test/management/{fuzz,reference-examples}.test.ts',
  'test/oidc/{basic,fapi2}.test.ts',
  // Faults: what is beside the service is away, hangs, or is killed.
  'test/faults/**',
  'test/chaos/chaos.test.ts',
  'test/ha/moved-environment.test.ts',
  'test/db/connection/{knex,pool-bulkhead}.test.ts',
  'test/flows/database-away.test.ts',
  'test/management/creations-at-once.test.ts',
  'test/platform/silent-mail-server.test.ts',
  'test/sso/hanging-provider.test.ts',
  // Several processes, proxies and databases of their own.
  'test/db/postgres/embedded-postgres.test.ts',
  'test/db/test-databases.test.ts',
  'test/domain/secret-key/reseal.test.ts',
  'test/flows/{background-work,behind-a-pooler,behind-a-proxy,doctor,doctor-fixes,first-start,mcp,read-only-checkout,read-replica,report-replica,secret-key,secret-key-rotations,start}.test.ts',
  'test/invariants/{replicas,two-processes}.test.ts',
  'test/platform/log/logger.test.ts',
  // Upgrades, backups, and what the guides say.
  'test/db/migrations/{baseline,migrate,migration-locks}.test.ts',
  'test/docs/!(sso)-guide.test.ts',
  'test/docs/{any-other-library,dependencies,exchange-guides,guides}.test.ts',
  'test/imports/coming-from.test.ts',
  'test/management/code-examples.test.ts',
  'test/packages/{client-readme,packed}.test.ts',
  'test/setup/guides.test.ts',
  // A SAML provider of another maker.
  'test/clients/saml/pysaml2.test.ts',
  'test/programs/{backup,backup-drill,backup-embedded,migrate,move,rekey,upgrade}.test.ts',
  // Many rows, and what is measured.
  'test/account/{hashing-cost,timing}.test.ts',
  'test/dashboard/{audit-export,slow-lists}.test.ts',
  'test/management/list-plans.test.ts',
  'test/management/organization-list-plans.test.ts',
  'test/management/configuration/many-records.test.ts',
  'test/scim/large-directory.test.ts',
];

const filesOf = (paths: readonly string[]) => paths.map((path) => path.replace(/\*\*$/, '**/*.test.ts'));
const except = (...paths: readonly string[]) => [...configDefaults.exclude, ...paths];
const database = { globalSetup: ['test/support/postgres.ts', 'test/support/compiled.ts'], setupFiles: ['test/support/row-guard.ts'] };

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
    // What is awaited comes late where something else keeps the processors busy: these end what hangs, and tell nothing of speed.
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 180_000,
    hookTimeout: 240_000,
    teardownTimeout: 30_000,
    // A shared machine may stall for seconds; what fails twice more is broken.
    retry: process.env['CI'] ? 2 : 0,
    // No test imports them: `--changed` can't tell whom they concern.
    forceRerunTriggers: [...configDefaults.forceRerunTriggers, '**/{migrations,public,views}/**'],
    provide: { isWhole: false },
    reporters: ['default', new SkippedForWantOfAProgram()],
    projects: [
      { extends: true, test: { name: 'unit', include: filesOf(unit), exclude: except(...slow) } },
      // Whatever isn't listed above: endpoints and operations on a real PostgreSQL, each file on a database of its own.
      {
        extends: true,
        test: { name: 'service', include: filesOf(['test/**']), exclude: except(...unit, ...browser, ...slow), ...database },
      },
      { extends: true, test: { name: 'browser', include: filesOf(browser), ...database } },
      { extends: true, test: { name: 'slow', include: filesOf([...slow, ...partly]), ...database, provide: { isWhole: true } } },
    ],
  },
});
