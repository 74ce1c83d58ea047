import { oldestUnnumberedSeconds } from '../../../db/tables/events.js';
import { listProcesses } from '../../../db/tables/processes.js';
import { fixes, probes } from '../../../lib/remedies.js';
import { check } from '../check.js';

/** Longer than any transaction stays open, whose events come late. */
const lateSeconds = 60;

export const feedCheck = check({
  id: 'feed',
  title: 'Events feed',
  inspects: 'How long committed events have waited for their place in the feed.',
  okText: 'Events are numbered as they come.',
  needs: 'schema',
  faults: {
    still: {
      level: 'problem',
      when: 'the oldest event that has no place yet has waited for more than a minute',
      why: 'Whoever follows the feed hears of nothing.',
      mend: '`npm start` when nothing runs, else the check `loops`',
    },
  },
  async run({ installation, database }) {
    const { seconds, processes } = await database(async (trx) => ({
      seconds: await oldestUnnumberedSeconds(trx),
      processes: (await listProcesses(trx)).length,
    }));
    if (seconds <= lateSeconds) return [];
    return [
      {
        fault: 'still' as const,
        finding: `The oldest event that waits for its place in the feed has waited for ${Math.round(seconds / 60)} minutes.`,
        ...(processes === 0 ? { fix: fixes.start() } : { look: probes.checks(installation.command, 'loops') }),
        subject: 'events',
      },
    ];
  },
});
