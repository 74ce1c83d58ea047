import { listPartitions } from '../../../db/postgres/partitions.js';
import { listProcesses } from '../../../db/tables/processes.js';
import { fixes, probes } from '../../../lib/remedies.js';
import { check } from '../check.js';

const dayMs = 86_400_000;
/** They are made seven days ahead. */
const shortDays = 3;

export const partitionsCheck = check({
  id: 'partitions',
  title: 'Partitions',
  inspects: 'Until when events, deliveries and the audit log have partitions.',
  okText: 'There are partitions for the next days.',
  needs: 'schema',
  variables: [],
  faults: {
    short: {
      level: 'problem',
      when: 'a table has no partition for the time in three days',
      why: 'Without one nothing can be written then: nobody signs in.',
      mend: '`npm start` when nothing runs, else the check `loops`, and log lines `partitions.held`',
    },
  },
  async run({ installation, database }) {
    const { partitions, processes } = await database(async (trx) => ({
      partitions: await listPartitions(trx),
      processes: (await listProcesses(trx)).length,
    }));
    const last = new Map(partitions.flatMap(({ table, to }) => (table === null ? [] : [[table, to] as const])));
    const mended = processes === 0 ? { fix: fixes.start() } : { look: probes.checks(installation.command, 'loops') };
    return [...last].flatMap(([table, to]) => {
      if (to === null || to.getTime() >= installation.clock.now().getTime() + shortDays * dayMs) return [];
      return [
        {
          fault: 'short' as const,
          finding: `The table ${table} has partitions until ${to.toISOString()} only.`,
          ...mended,
          subject: table,
        },
      ];
    });
  },
});
