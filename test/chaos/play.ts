import { setTimeout as delay } from 'node:timers/promises';
import { startCluster, type Cluster } from './cluster.js';
import type { History } from './history.js';
import { grants } from './load/grants.js';
import { limits } from './load/limits.js';
import { people } from './load/people.js';
import { records, roles, users } from './load/records.js';
import { tokens, type MachineToken } from './load/tokens.js';
import { blocked, clients, keys } from './load/withdrawals.js';
import { plants, sow, type Plant, type PlantName } from './plants.js';
import { randomOf } from './random.js';
import { startFailingReceiver } from './receiver.js';
import { createRecorder, type Recorder } from './recorder.js';
import { createSender } from './requests.js';
import { scheduleOf, type Fault, type Target } from './schedule.js';
import { settle } from './settle.js';
import { prepareStage, type Stage } from './stage.js';
import { createWorld, type Actor } from './world.js';

/** Everybody who makes load, by the name that their choices are drawn for. */
const actorsOf = (stage: Stage, issued: MachineToken[]): Record<string, Actor> => ({
  'grants 1': grants(stage),
  'grants 2': grants(stage),
  'grants 3': grants(stage),
  tokens: tokens(stage, issued),
  roles: records(roles, 'role'),
  users: records(users, 'record'),
  people: people('registered'),
  clients: clients(stage),
  blocked: blocked(stage),
  keys: keys(stage),
  ...Object.fromEntries(stage.limited.map((one) => [one.name, limits(one, stage.jwt)])),
});

/** Makes the faults at their times, but hits nobody who isn't back yet from the last blow. Resolves when the last is undone. */
async function makeFaults(cluster: Cluster, recorder: Recorder, faults: readonly Fault[]): Promise<void> {
  const down = new Set<Target>();
  await Promise.all(
    faults.map(async (fault) => {
      const { kind, target } = fault;
      await delay(fault.at);
      if (down.has(target)) return;
      down.add(target);
      const start = recorder.now();
      await cluster.suffer(fault);
      down.delete(target);
      recorder.add({
        kind: `${kind} ${target}`,
        replica: '-',
        start,
        end: recorder.now(),
        outcome: 'ok',
        status: 0,
        fault: { crash: kind === 'immediate' },
      });
    }),
  );
}

/** Plays a run and answers its history. What it starts ends with `endAll`. @throws when the stage can't be set, or an actor breaks */
export async function play(options: {
  readonly durationMs: number;
  readonly seed: number;
  readonly plant: PlantName | null;
}): Promise<History> {
  const { durationMs, seed } = options;
  const plant: Plant | null = options.plant === null ? null : plants[options.plant];
  const recorder = createRecorder();
  const cluster = await startCluster(plant?.environment);
  await cluster.ready();
  const sender = createSender(new URL(cluster.base).host);
  const receiver = await startFailingReceiver(recorder, randomOf(seed, 'receiver'));
  try {
    let over = false;
    const world = createWorld({ cluster, recorder, send: sender.send, over: () => over });
    const stage = await prepareStage(world, receiver.url);
    const wither = plant ? await sow(plant, cluster) : () => undefined;
    const issued: MachineToken[] = [];
    const actors = Object.entries(actorsOf(stage, issued)).map(([name, actor]) => actor(world, randomOf(seed, name)));
    const end = delay(durationMs).then(() => (over = true));
    await Promise.all([end, makeFaults(cluster, recorder, scheduleOf(seed, durationMs)), ...actors]);
    wither();
    await cluster.ready();
    await settle(world, stage, issued);
    return recorder.history;
  } finally {
    await receiver.close();
    await sender.close();
  }
}
