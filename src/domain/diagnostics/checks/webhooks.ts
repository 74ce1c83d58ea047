import { listWatchedWebhooks, type WatchedWebhook } from '../../../db/tables/webhooks.js';
import { webhookHealth, type Health } from '../../health/health.js';
import { fixes, probes } from '../../../lib/remedies.js';
import { check, cliOn, recordSubject, inEnvironment, type Found } from '../check.js';
import type { Installation } from '../installation.js';
import { askReceivers, reachText, type Reached } from '../reach-origins.js';

type Fault = 'unreachable' | 'blocked' | 'failing' | 'disabled';

const most = 100;

/** What the attempts that failed say: how many, since when, and what was answered last. */
export const failedAttempts = ({ attempts, since, response_status, error }: NonNullable<Health>): string =>
  `the last ${attempts === 1 ? 'attempt' : `${attempts} attempts`} failed, since ${since?.toISOString().slice(0, 16) ?? 'an unknown time'}Z (${response_status ?? error})`;

const disabledBecause = { receiver_gone: 'its receiver answered 410', consecutive_failures: '100 events in a row failed' } as const;

function faultOf(installation: Installation, webhook: WatchedWebhook, reached: Reached): Found<Fault>[] {
  const { id, name, url, environment, disabled_reason } = webhook;
  const who = `The webhook ${JSON.stringify(name)}${inEnvironment(environment)}`;
  const subject = recordSubject(environment, 'webhooks', id);
  const cli = cliOn(installation, environment);
  const update = (status: string) => fixes.updateRecord(cli, 'webhooks', id, 'status', status);
  if (disabled_reason !== null)
    return [
      { fault: 'disabled', finding: `${who} was disabled, because ${disabledBecause[disabled_reason]}.`, fix: update('enabled'), subject },
    ];
  const { origin } = new URL(url);
  if (reached === 'blocked_address' || reached === 'protocol') {
    const finding = `${who} leads where requests may not go: ${origin}.`;
    return [{ fault: 'blocked', finding, fix: update('disabled'), subject }];
  }
  if (reached !== null)
    return [
      { fault: 'unreachable', finding: `${who} can not be reached: ${origin} ${reachText(reached)}.`, fix: update('disabled'), subject },
    ];
  const health = webhookHealth(webhook);
  if (health === null) return [];
  return [
    {
      fault: 'failing',
      finding: `${who} does not take what is sent, though ${origin} can be reached: ${failedAttempts(health)}.`,
      look: probes.deliveries(cli, id),
      subject,
    },
  ];
}

export const webhooksCheck = check({
  id: 'webhooks',
  title: 'Webhooks',
  inspects:
    'The hundred enabled webhooks used last: a connection to each is opened and closed, nothing is sent. And how the last attempts went.',
  okText: 'Every webhook can be reached and accepts deliveries.',
  needs: 'schema',
  faults: {
    unreachable: {
      level: 'warning',
      when: 'nobody listens at its address, or TLS fails',
      why: 'Deliveries are tried six times within some six hours; what happens after that is not heard of there.',
      mend: 'the receiver; `npm run -s cli -- webhooks update <id> --status disabled` for one that is gone for good',
    },
    blocked: {
      level: 'warning',
      when: 'its address is forbidden: private networks, this machine, plain http',
      why: 'Every delivery fails.',
      mend: 'another address, `webhooks update <id> --status disabled`, or `ALLOW_PRIVATE_NETWORK=on` where the network is yours',
    },
    failing: {
      level: 'warning',
      when: 'its last attempts failed, though somebody listens',
      why: 'Its receiver refuses what is sent: the attempts tell how it answers.',
      mend: '`npm run -s cli -- list-deliveries --webhook <id> --status failed`; then the receiver',
    },
    disabled: {
      level: 'notice',
      when: 'the service disabled it',
      why: 'Nothing that happens meanwhile is sent later.',
      mend: '`npm run -s cli -- webhooks update <id> --status enabled`, once the receiver is well',
    },
  },
  async run({ installation, database }) {
    const watched = await database((trx) => listWatchedWebhooks(trx, most));
    const answers = await askReceivers(installation, watched);
    return answers.flatMap(([webhook, reached]) => faultOf(installation, webhook, reached));
  },
});
