import { listProcesses, type LoopReport, type ProcessRow } from '../../../db/tables/processes.js';
import { fixes } from '../../../lib/remedies.js';
import { check, type Found } from '../check.js';

type Fault = 'none' | 'away' | 'still' | 'failing';

/** A pass that takes longer, in seconds, hangs; a loop that pauses longer than some times its pause and this has stopped. */
const longestPass = 600;
const patience = 300;
const pauses = 4;
const failuresInRow = 3;

function faultOf({ host, pid }: ProcessRow, name: string, { running, idle, pause, failures }: LoopReport): Found<Fault>[] {
  const where = `process ${pid} on ${host}`;
  const fix = fixes.endProcess(host, pid);
  const subject = `loops/${name}`;
  if (running !== null && running > longestPass)
    return [
      { fault: 'still', finding: `A pass of the loop ${name} in ${where} has run for ${Math.round(running / 60)} minutes.`, fix, subject },
    ];
  if (idle !== null && idle > pause * pauses + patience)
    return [{ fault: 'still', finding: `The loop ${name} in ${where} has not run for ${Math.round(idle / 60)} minutes.`, fix, subject }];
  if (failures < failuresInRow) return [];
  return [
    {
      fault: 'failing',
      finding: `The loop ${name} in ${where} has failed ${failures} times in a row: lines of its log with "loop":"${name}" say why.`,
      subject,
    },
  ];
}

export const loopsCheck = check({
  id: 'loops',
  title: 'Loops',
  inspects: 'What each process wrote of its background work in the last 90 seconds.',
  okText: 'Processes are running, and none of their loops is stuck.',
  needs: 'schema',
  variables: ['BACKGROUND_WORK'],
  faults: {
    none: {
      level: 'problem',
      when: 'no process of the service is running',
      why: 'Nobody can sign in, and nothing is sent.',
      mend: '`npm start`',
    },
    away: {
      level: 'problem',
      when: 'all running processes leave the background work to others (`BACKGROUND_WORK=off`)',
      why: 'Mail, webhooks, imports and clean-up wait.',
      mend: 'start a process with `BACKGROUND_WORK=on` or `BACKGROUND_WORK=only`',
    },
    still: {
      level: 'problem',
      when: 'a loop hasn’t run for four pauses and five minutes, or runs for ten minutes',
      why: 'Its work is left undone: mail, deliveries, clean-up or the change of keys, by its name.',
      mend: '`kill` that process: its supervisor restarts it',
    },
    failing: {
      level: 'warning',
      when: 'a loop has failed three times in a row',
      why: 'Its work is left undone until it succeeds; it goes on trying.',
      mend: 'its log lines (`loop.failed`) tell why',
    },
  },
  async run({ database }) {
    const processes = await database((trx) => listProcesses(trx));
    if (processes.length === 0)
      return [{ fault: 'none', finding: 'No process of the service is at work on this database.', fix: fixes.start() }];
    const finding = 'No process at work sends, tidies and imports: BACKGROUND_WORK is off in all of them.';
    const away = { fault: 'away', finding, fix: fixes.setVariable('BACKGROUND_WORK', 'on') } as const;
    return [
      ...(processes.some(({ loops }) => 'webhook' in loops) ? [] : [away]),
      ...processes.flatMap((one) => Object.entries(one.loops).flatMap(([name, report]) => faultOf(one, name, report))),
    ];
  },
});
