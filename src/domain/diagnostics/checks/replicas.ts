import { setTimeout as delay } from 'node:timers/promises';
import { standbyStateOf, type StandbyState } from '../../../db/postgres/standby-state.js';
import { walPositionOf, type WalPosition } from '../../../db/postgres/wal-positions.js';
import { fixes } from '../../../lib/remedies.js';
import { check, type Found } from '../check.js';
import { isOpenDatabase } from '../installation.js';

type Fault = 'away' | 'primary' | 'late' | 'stalls' | 'cancels';

/** A standby that look-ups or lists may be read from. */
type Named = { readonly url: string; readonly variable: string; readonly isReport: boolean; readonly maxLagMs: number };

/** The longest that readers of a look-up replica may hold its replay up, in milliseconds: as long as it is trusted without news. */
const longestWaitMs = 1_000;

function hostOf({ url }: Named): string {
  try {
    return new URL(url).host;
  } catch {
    return 'its address';
  }
}

/** What the standby says, once it has replayed the position or had a second for it. @throws what the database throws */
async function stateAfter({ url }: Named, position: WalPosition): Promise<StandbyState> {
  const state = await standbyStateOf(url, position);
  if (state.behind_ms === 0 || !state.in_recovery) return state;
  await delay(longestWaitMs);
  return standbyStateOf(url, position);
}

async function faultsOf(standby: Named, position: WalPosition): Promise<Found<Fault>[]> {
  const { variable: subject, isReport, maxLagMs } = standby;
  const host = hostOf(standby);
  const fix = fixes.variable(subject);
  const state = await stateAfter(standby, position).catch(() => null);
  if (state === null) return [{ fault: 'away', finding: `The standby at ${host} of ${subject} does not answer.`, fix, subject }];
  if (!state.in_recovery) return [{ fault: 'primary', finding: `The server at ${host} of ${subject} is no standby.`, fix, subject }];
  const found: Found<Fault>[] = [];
  const { replay_waits_ms: waits } = state;
  if (state.behind_ms > maxLagMs)
    found.push({ fault: 'late', finding: `The standby at ${host} is more than ${maxLagMs} ms behind.`, subject });
  if (!isReport && (waits < 0 || waits > longestWaitMs)) {
    const limit = waits < 0 ? 'has no end' : `is ${waits} ms`;
    found.push({ fault: 'stalls', finding: `max_standby_streaming_delay of the standby at ${host} ${limit}.`, subject });
  }
  if (isReport && !state.feedback)
    found.push({ fault: 'cancels', finding: `hot_standby_feedback of the standby at ${host} is off.`, subject });
  return found;
}

export const replicasCheck = check({
  id: 'replicas',
  title: 'Replicas',
  inspects: 'Whether the standbys of `DATABASE_REPLICA_URLS` and `DATABASE_REPORT_URL` answer, follow closely, and are set for their task.',
  okText: 'Every standby that is configured follows the primary; there may be none.',
  needs: 'schema',
  variables: ['DATABASE_REPLICA_URL', 'DATABASE_REPLICA_URLS', 'DATABASE_REPORT_URL'],
  faults: {
    away: {
      level: 'warning',
      when: 'a standby doesn’t answer',
      why: 'The primary does its work.',
      mend: 'start it, or name another in `DATABASE_REPLICA_URLS` or `DATABASE_REPORT_URL`',
    },
    primary: {
      level: 'warning',
      when: 'a named standby is none',
      why: 'It is never trusted: the primary does its work.',
      mend: '`DATABASE_REPLICA_URLS` or `DATABASE_REPORT_URL`: a streaming standby of `DATABASE_URL`',
    },
    late: {
      level: 'warning',
      when: 'a standby is more than a second behind, or `REPORT_MAX_LAG_MS` for lists',
      why: 'The primary does its work meanwhile.',
      mend: 'a faster disk or network for the standby; fewer long statements on it',
    },
    stalls: {
      level: 'warning',
      when: '`max_standby_streaming_delay` of a standby for look-ups is more than a second',
      why: 'One long statement there stops its replay, and the primary is asked until it ends.',
      mend: '`alter system set max_standby_streaming_delay = ‘1s’` on the standby, then `select pg_reload_conf()`',
    },
    cancels: {
      level: 'notice',
      when: '`hot_standby_feedback` of the standby for lists is off',
      why: 'Vacuum on the primary cancels long lists, which are then read from the primary.',
      mend: '`alter system set hot_standby_feedback = on` on the standby, then `select pg_reload_conf()`',
    },
  },
  async run({ installation: { config, database } }) {
    if (!isOpenDatabase(database)) return [];
    const { databaseReplicaUrls, databaseReport } = config;
    const variable = databaseReplicaUrls.length > 1 ? 'DATABASE_REPLICA_URLS' : 'DATABASE_REPLICA_URL';
    const standbys: Named[] = databaseReplicaUrls.map((url) => ({ url, variable, isReport: false, maxLagMs: longestWaitMs }));
    if (databaseReport) standbys.push({ ...databaseReport, variable: 'DATABASE_REPORT_URL', isReport: true });
    if (standbys.length === 0) return [];
    const position = await walPositionOf(database.knex);
    return (await Promise.all(standbys.map((standby) => faultsOf(standby, position)))).flat();
  },
});
