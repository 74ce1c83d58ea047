import { listWatchedLogStreams, type WatchedLogStream } from '../../../db/tables/log_streams.js';
import { logStreamHealth } from '../../health/health.js';
import { fixes } from '../../../lib/remedies.js';
import { check, cliOn, recordSubject, inEnvironment, type Found } from '../check.js';
import type { Installation } from '../installation.js';
import { failedAttempts } from './webhooks.js';
import { askReceivers, reachText, type Reached } from '../reach-origins.js';

type Fault = 'unreachable' | 'blocked' | 'failing' | 'paused';

const most = 100;

function faultOf(installation: Installation, stream: WatchedLogStream, reached: Reached): Found<Fault>[] {
  const { id, name, url, environment } = stream;
  const who = `The log stream ${JSON.stringify(name)}${inEnvironment(environment)}`;
  const subject = recordSubject(environment, 'log_streams', id);
  const update = (status: string) => fixes.updateRecord(cliOn(installation, environment), 'log_streams', id, 'status', status);
  const { origin } = new URL(url);
  const health = logStreamHealth(stream);
  if (health?.trouble === 'stopped')
    return [{ fault: 'paused', finding: `${who} was paused after three days of failures.`, fix: update('enabled'), subject }];
  if (reached === 'blocked_address' || reached === 'protocol')
    return [{ fault: 'blocked', finding: `${who} leads where requests may not go: ${origin}.`, fix: update('paused'), subject }];
  if (reached !== null) {
    const finding = `${who} can not be reached: ${origin} ${reachText(reached)}.`;
    return [{ fault: 'unreachable', finding, fix: update('paused'), subject }];
  }
  if (health === null) return [];
  const finding = `${who} does not take what is sent, though ${origin} can be reached: ${failedAttempts(health)}.`;
  return [{ fault: 'failing', finding, fix: update('enabled'), subject }];
}

export const logStreamsCheck = check({
  id: 'log_streams',
  title: 'Log streams',
  inspects:
    'The first hundred enabled log streams: a connection to each is opened and closed, nothing is sent. And how the last attempts went.',
  okText: 'Every log stream can be reached and accepts entries.',
  needs: 'schema',
  faults: {
    unreachable: {
      level: 'warning',
      when: 'nobody listens at its address, or TLS fails',
      why: 'What happens waits here and isn’t seen there; after three days the stream is paused. Nothing is skipped.',
      mend: 'the receiver; `npm run -s cli -- log_streams update <id> --status paused` for one that is gone for good',
    },
    blocked: {
      level: 'warning',
      when: 'its address is forbidden: private networks, this machine, plain http',
      why: 'Nothing arrives there.',
      mend: 'another address, `log_streams update <id> --status paused`, or `ALLOW_PRIVATE_NETWORK=on` where the network is yours',
    },
    failing: {
      level: 'warning',
      when: 'its last attempts failed, though somebody listens',
      why: 'Its receiver refuses what is sent: `last_error` and `last_response_status` tell how.',
      mend: 'the receiver, or its `authorization`; `npm run -s cli -- log_streams update <id> --status enabled` tries at once',
    },
    paused: {
      level: 'warning',
      when: 'the service paused it',
      why: 'What happens waits until it is enabled again.',
      mend: '`npm run -s cli -- log_streams update <id> --status enabled`, once the receiver is well',
    },
  },
  async run({ installation, database }) {
    const watched = await database((trx) => listWatchedLogStreams(trx, most));
    const answers = await askReceivers(installation, watched);
    return answers.flatMap(([stream, reached]) => faultOf(installation, stream, reached));
  },
});
