import { listWatchedWebhooks, type WatchedWebhook } from '../../../db/tables/webhooks.js';
import { fixes, looks } from '../../../lib/remedies.js';
import { check, cliOn, recordOf, within, type Found } from '../check.js';
import type { Installation } from '../installation.js';
import { askReceivers, reachText, type Reached } from '../reach-origins.js';

type Fault = 'unreachable' | 'blocked' | 'failing' | 'disabled';

const most = 100;

const disabledBecause = {
  receiver_gone: 'its receiver answered 410',
  consecutive_failures: '100 events in a row failed',
} as const;

function faultOf(installation: Installation, webhook: WatchedWebhook, reached: Reached): Found<Fault>[] {
  const { id, name, url, environment, disabled_reason } = webhook;
  const who = `The webhook ${JSON.stringify(name)}${within(environment)}`;
  const subject = recordOf(environment, 'webhooks', id);
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
  if (!webhook.failing) return [];
  return [
    {
      fault: 'failing',
      finding: `${who} has taken nothing for a day, though ${origin} can be reached.`,
      look: looks.deliveries(cli, id),
      subject,
    },
  ];
}

export const webhooks = check({
  id: 'webhooks',
  title: 'Webhooks',
  looks:
    'Enabled webhooks of all environments, the hundred used last: a connection to each is opened and closed, nothing is sent. Whether what happened more than a day ago has arrived.',
  well: 'Every webhook can be reached, and takes what is sent.',
  needs: 'schema',
  variables: [],
  faults: {
    unreachable: {
      level: 'warning',
      when: 'nobody listens at its address, or TLS fails',
      why: 'Deliveries are tried six times within some six hours; what happens after that is not heard of there.',
      mend: 'the receiver; `npm run -s cli -- webhooks update <id> --status disabled` for one that is gone for good',
    },
    blocked: {
      level: 'warning',
      when: 'its address is one that requests may not go to: private networks, this machine, plain http',
      why: 'Every delivery fails.',
      mend: 'another address, `webhooks update <id> --status disabled`, or `ALLOW_PRIVATE_NETWORK=on` where the network is yours',
    },
    failing: {
      level: 'warning',
      when: 'an event of more than a day ago, and none since, has arrived',
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
    const asked = await askReceivers(installation, watched);
    return asked.flatMap(([webhook, reached]) => faultOf(installation, webhook, reached));
  },
});
