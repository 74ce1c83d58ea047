import { oldestDueBackchannelSeconds } from '../../../db/tables/backchannel_logouts.js';
import { oldestDueMailSeconds } from '../../../db/tables/mails.js';
import { oldestDueProviderRevocationSeconds } from '../../../db/tables/provider_token_revocations.js';
import { listProcesses } from '../../../db/tables/processes.js';
import { oldestDueSeconds } from '../../../db/tables/webhook_queue.js';
import { fixes, probes } from '../../../lib/remedies.js';
import { check } from '../check.js';

const lateSeconds = 300;

export const outboxCheck = check({
  id: 'outbox',
  title: 'Outbox',
  inspects: 'How long due mail, webhook deliveries and logout tokens have waited.',
  okText: 'Queue is on time.',
  needs: 'schema',
  faults: {
    late: {
      level: 'warning',
      when: 'the oldest that is due has waited for more than 5 minutes',
      why: 'Codes run out before they arrive; receivers don’t hear of changes.',
      mend: '`npm start` when nothing runs, else the named check (`mail`, `webhooks`, `loops`)',
    },
  },
  async run({ installation, database }) {
    const { queues, processes } = await database(async (trx) => ({
      processes: (await listProcesses(trx)).length,
      queues: [
        { name: 'mail', what: 'mail', seconds: await oldestDueMailSeconds(trx), look: 'mail' },
        { name: 'webhook', what: 'delivery to a webhook', seconds: await oldestDueSeconds(trx), look: 'webhooks' },
        { name: 'backchannel_logout', what: 'logout token', seconds: await oldestDueBackchannelSeconds(trx), look: 'loops' },
        {
          name: 'provider_revocation',
          what: 'revocation at a provider',
          seconds: await oldestDueProviderRevocationSeconds(trx),
          look: 'loops',
        },
      ],
    }));
    return queues
      .filter(({ seconds }) => seconds > lateSeconds)
      .map(({ name, what, seconds, look }) => ({
        fault: 'late' as const,
        finding: `The oldest ${what} that is due has waited for ${Math.round(seconds / 60)} minutes.`,
        ...(processes === 0 ? { fix: fixes.start() } : { look: probes.checks(installation.command, look) }),
        subject: name,
      }));
  },
});
