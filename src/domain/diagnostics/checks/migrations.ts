import { schemaDifference } from '../../../db/migrations/migrate.js';
import { fixes } from '../../../lib/remedies.js';
import { check } from '../check.js';

export const migrationsCheck = check({
  id: 'migrations',
  title: 'Schema',
  inspects: 'Whether the database has this release’s migrations, and no others.',
  okText: 'Schema is up to date.',
  needs: 'database',
  faults: {
    pending: {
      level: 'problem',
      when: 'the database lacks migrations of this release',
      why: 'A process of this release isn’t ready (`/readyz` is 503). The next start would migrate too.',
      mend: '`npm run -s migrate`',
    },
    newer: {
      level: 'warning',
      when: 'the database has migrations of a newer release',
      why: 'Beside the newer release this one goes on working for the time of a deployment; not for good.',
      mend: 'deploy the newer release here too',
    },
  },
  async run({ installation, database }) {
    const { pending, newer } = await database((trx) => schemaDifference(trx));
    if (pending.length > 0) {
      const more = pending.length > 1 ? ` and ${pending.length - 1} more` : '';
      return [
        { fault: 'pending', finding: `The database lacks the migration ${pending[0]}${more}.`, fix: fixes.migrate(installation.command) },
      ];
    }
    if (newer.length === 0) return [];
    const finding = `The database has ${newer.length} migrations of a newer release, the last is ${newer.at(-1)}: deploy that release here too.`;
    return [{ fault: 'newer', finding }];
  },
});
