import { listTroubledSignalStreams } from '../../../db/tables/signal_streams.js';
import { check, inEnvironment, recordSubject, type Found } from '../check.js';

/** Seconds that a signal may wait before somebody should look: receivers that poll do so every few minutes at least. */
const lagSeconds = 3600;
const most = 100;

export const signalStreamsCheck = check({
  id: 'signal_streams',
  title: 'Signal streams',
  inspects: 'The first hundred signal streams: whether too much waits, or for too long.',
  okText: 'Every signal arrives.',
  needs: 'schema',
  faults: {
    paused: {
      level: 'warning',
      when: '10,000 signals waited for it, or one for 7 days',
      why: 'Its application does not hear of sessions that end and accounts that are blocked.',
      mend: 'the receiver, or `npm run -s cli -- signal_streams delete <id>` for one that is gone for good',
    },
    lagging: {
      level: 'warning',
      when: 'a signal has waited for more than an hour',
      why: 'Its application goes on as if nothing had happened; after 7 days the stream is paused.',
      mend: 'the receiver: `last_error` tells why it does not take what is pushed; one that polls has stopped',
    },
  },
  async run({ database }) {
    const troubled = await database((trx) => listTroubledSignalStreams(trx, lagSeconds, most));
    return troubled.map(({ id, client_id, environment, paused_by, last_error, lag_seconds }): Found<'paused' | 'lagging'> => {
      const who = `The signal stream of the client ${client_id}${inEnvironment(environment)}`;
      const subject = recordSubject(environment, 'signal_streams', id);
      if (paused_by === 'limit') return { fault: 'paused', finding: `${who} was paused because too much waits.`, subject };
      const error = last_error === null ? '' : `: ${last_error}`;
      return { fault: 'lagging', finding: `${who} is ${Math.floor(lag_seconds / 60)} minutes behind${error}.`, subject };
    });
  },
});
