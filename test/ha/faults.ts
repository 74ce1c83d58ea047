import { eventually } from '../support/webhooks.js';
import type { Cluster } from './cluster.js';
import { count, failed, type History } from './history.js';
import type { Machine } from './machine.js';
import type { Replica } from './replicas.js';

/** What befalls the leader, and how it comes back. */
export type Fault = {
  readonly title: string;
  strike(leader: Machine): Promise<void>;
  end(leader: Machine, cluster: Cluster): Promise<void>;
};

const database = ['patroni', 'postgres'];
function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Twice: some were born while the first ones got it. */
function signal(machine: Machine, name: NodeJS.Signals): void {
  for (const pid of machine.processes(...database)) send(pid, name);
  for (const pid of machine.processes(...database)) send(pid, name);
}

export const faults: Readonly<Record<string, Fault>> = {
  kill: {
    title: 'the leader is killed',
    strike: async (leader) => {
      await eventually(async () => {
        signal(leader, 'SIGKILL');
        return leader.processes(...database).length === 0;
      });
    },
    end: (leader, cluster) => cluster.startPatroni(leader),
  },
  pause: {
    title: 'the leader is paused, and goes on when another leads',
    strike: async (leader) => signal(leader, 'SIGSTOP'),
    end: async (leader) => signal(leader, 'SIGCONT'),
  },
  cut: {
    title: 'the leader is cut off from everything, and comes back when another leads',
    strike: (leader) => leader.disconnect(),
    end: (leader) => leader.connect(),
  },
};

/** Milliseconds, and counts of answers. */
export type Figures = ReturnType<typeof count> & {
  readonly leaderMs: number;
  /** From the new leader's first word to the last request that failed. */
  readonly serviceMs: number;
  /** From the end of the fault until the former leader follows, in step; null: not within two minutes. */
  readonly backMs: number | null;
  /** Whether it had written what nobody else had. */
  readonly rewound: boolean;
};

/** When a member was made the leader after a moment, by its own log, which is a little behind: before anybody could ask it. */
const promotedAfter = (member: Machine, since: number): Promise<number> =>
  eventually(async () => {
    const [, day, time, ms] = [...member.log('patroni').matchAll(/^(\S+) (\S+),(\d{3}) INFO: promoted self to leader/gm)].at(-1) ?? [];
    const at = new Date(`${day}T${time}.${ms}`).getTime() - performance.timeOrigin;
    return at > since && at;
  });

const leaderWithinMs = 60_000;
const serviceWithinMs = 60_000;
const backWithinMs = 120_000;
const quietMs = 5000;
const kinds = ['user', 'authorize', 'redeem', 'introspect', 'refresh'];

/** Resolves with the time of the last failure once all kinds have been answered since, and nothing has failed for a while. */
async function awaitService(history: History, leaderAt: number): Promise<number> {
  const lastFailure = () => Math.max(leaderAt, ...history.answers.filter(({ status }) => failed(status)).map(({ at }) => at));
  await eventually(
    async () => {
      const since = lastFailure();
      const served = new Set(history.answers.filter(({ at, status }) => at > since && !failed(status)).map(({ kind }) => kind));
      return performance.now() - since > quietMs && kinds.every((kind) => served.has(kind));
    },
    serviceWithinMs,
    100,
  );
  return lastFailure();
}

/** Lets the fault happen under load, and waits until service and cluster are whole again. `checked` runs when the service is. */
export async function suffer(
  fault: Fault,
  cluster: Cluster,
  replicas: readonly Replica[],
  history: History,
  checked: () => Promise<void>,
): Promise<Figures> {
  const former = await eventually(() => cluster.leader());
  const before = former.log('patroni').length;
  const struckAt = performance.now();
  await fault.strike(former);
  const leaderAt = await promotedAfter(await eventually(() => cluster.leader(former), leaderWithinMs, 100), struckAt);
  // Beside the new leader the former one wakes up and believes that nothing has happened.
  const endedAt = performance.now();
  await fault.end(former, cluster);
  const back = cluster.whole(backWithinMs).then(
    () => performance.now() - endedAt,
    () => null,
  );
  const servedAt = await awaitService(history, leaderAt);
  const counted = count(history, struckAt);
  await checked();
  const backMs = await back;
  for (const { machine, process: child } of replicas)
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the service on ${machine.name} ended`);
  const rewound = /running pg_rewind/.test(former.log('patroni').slice(before));
  return { ...counted, leaderMs: leaderAt - struckAt, serviceMs: servedAt - leaderAt, backMs, rewound };
}
