import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { startLoop, type Loop } from '../../platform/loop.js';
import { divide } from './fair-share.js';
import { createLane, isHungry, isOpen, mayStart, noteExchange, surplus, type Lane } from './lane.js';
import type { Due, Exchange, Job, Queue } from './queue.js';
import { createRecorder } from './recorder.js';

const maxInFlight = 500;
const maxHeld = 2000;
const maxClaim = 200;
const pollMs = 1000;
const thoroughEveryMs = 5000;
const thoroughAtMostEveryMs = 100;
const restMs = 20;
/** How often to look unasked while something is known to be due: notifications and timers say what else there is. */
const lookEveryMs = 200;

/** A loop that works a queue off. */
export type QueueLoop = Loop & {
  /** Resolves when this process holds nothing and nothing is due: for tests and scripts. */
  drained(): Promise<void>;
};

/**
 * Works a queue off: looks for destinations that have something due, claims for them in fair shares, works on at most five jobs of
 * each at once, writes results down in batches. Woken by notifications and completions; the poll is the truth.
 *
 * `stop` gives back what hasn't been started, lets what is in flight finish for half the queue's time limit, and then gives that back too.
 */
export function startQueueLoop<J extends Job, Result extends Exchange>(queue: Queue<J, Result>, logger: Logger): QueueLoop {
  const lanes = new Map<string, Lane<J>>();
  const aborting = new AbortController();
  // Every exchange in flight listens.
  setMaxListeners(0, aborting.signal);
  const inFlight = new Set<Promise<void>>();
  const released: J[] = [];
  let releasing: Promise<void> | null = null;
  let held = 0;
  let stopping = false;
  let notified = true;
  let lastLook = Number.NEGATIVE_INFINITY;
  let lastThorough = Number.NEGATIVE_INFINITY;
  let lastTidy = Number.NEGATIVE_INFINITY;
  let thoroughWanted = false;
  let offset = 0;
  let timer: NodeJS.Timeout | undefined;
  let timerAt = Number.POSITIVE_INFINITY;
  const recorder = createRecorder(queue, logger, (results) => {
    for (const { retry_in_ms } of results) if (retry_in_ms !== null) wakeIn(retry_in_ms);
    wakeIfHungry();
  });

  const now = () => performance.now();
  const laneOf = ({ environment_id, id }: { environment_id: string; id: string }): Lane<J> => {
    let lane = lanes.get(id);
    if (!lane) lanes.set(id, (lane = createLane<J>(environment_id, id)));
    return lane;
  };
  const expect = (due: readonly Due[]) => {
    for (const one of due) {
      const lane = laneOf(one);
      if (lane.due_at === null || one.due_at < lane.due_at) lane.due_at = one.due_at;
    }
  };
  const forgetIdle = () => {
    for (const [id, lane] of lanes) {
      if (lane.due_at === null && lane.waiting.length === 0 && lane.inFlight === 0 && lane.failures === 0) lanes.delete(id);
    }
  };

  /** Looks for due destinations unless it did so just now and knows of enough. */
  async function look(): Promise<void> {
    const since = now() - lastLook;
    if (!notified && since < lookEveryMs && [...lanes.values()].some((lane) => lane.due_at !== null)) return;
    notified = false;
    lastLook = now();
    const thoroughAge = lastLook - lastThorough;
    if (lastLook - lastTidy > thoroughEveryMs) {
      lastTidy = lastLook;
      thoroughWanted = true;
      forgetIdle();
      await queue.tidy();
    }
    if (thoroughWanted && thoroughAge > thoroughAtMostEveryMs) {
      lastThorough = lastLook;
      thoroughWanted = false;
      expect(await queue.thorough());
    }
    const { due, full } = await queue.recent();
    if (full) thoroughWanted = true;
    expect(due);
  }

  async function claim(): Promise<boolean> {
    const budget = Math.min(maxClaim, maxHeld - held - recorder.pending());
    // A lane is filled up when it has half run out, not for each single job: claims stay large.
    const hungry = [...lanes.values()].filter(isHungry);
    const shares = divide(hungry, budget, now(), offset++);
    if (shares.length === 0) return false;
    const wanted = shares.map(({ lane, room }) => ({
      environment_id: lane.environment_id,
      id: lane.id,
      due_at: lane.due_at ?? new Date(0),
      room,
    }));
    const jobs = await queue.claim(wanted);
    for (const share of shares) {
      const own = jobs.filter((job) => job.destination.id === share.lane.id);
      share.lane.waiting.push(...own);
      share.lane.due_at = own.length < share.room ? null : (own.at(-1)?.due_at ?? null);
    }
    held += jobs.length;
    start(shares.map((share) => share.lane));
    return jobs.length > 0;
  }

  function start(which: Iterable<Lane<J>>): void {
    const late: J[] = [];
    for (const lane of which) {
      while (!stopping && lane.waiting.length > 0 && inFlight.size < maxInFlight && mayStart(lane, now())) {
        const job = lane.waiting.shift() as J;
        // Started this late, it might end after its lease.
        if (now() - job.claimedAt > queue.leaseMs * 0.9 - queue.timeoutMs) late.push(job);
        else work(lane, job);
      }
    }
    giveBack(late);
  }

  function work(lane: Lane<J>, job: J): void {
    lane.inFlight += 1;
    const working = queue
      .attempt(job, aborting.signal)
      .then(
        (result) => {
          held -= 1;
          noteExchange(lane, { ...result, now: now(), retryBaseMs: queue.retryBaseMs });
          recorder.add(job, result);
        },
        () => giveBack([job]),
      )
      .finally(() => {
        lane.inFlight -= 1;
        inFlight.delete(working);
        // What a lane that turned out slow or broken can't start soon goes back to the queue.
        const excess = surplus(lane);
        if (excess > 0) giveBack(lane.waiting.splice(-excess));
        if (inFlight.size >= maxInFlight - 1) start(lanes.values());
        else start([lane]);
        wakeIfHungry(lane);
      });
    inFlight.add(working);
  }

  function giveBack(jobs: readonly J[]): void {
    if (jobs.length === 0) return;
    held -= jobs.length;
    for (const job of jobs) {
      const lane = laneOf(job.destination);
      if (lane.due_at === null || job.due_at < lane.due_at) lane.due_at = job.due_at;
    }
    released.push(...jobs);
    releasing ??= release();
  }

  /** Gives back what has piled up, one statement at a time. */
  async function release(): Promise<void> {
    while (released.length > 0) {
      await queue
        .release(released.splice(0))
        .catch((error: unknown) => logger.warn({ err: error, queue: queue.name }, 'outbox.not_released'));
    }
    releasing = null;
  }

  function wakeIfHungry(lane?: Lane<J>): void {
    if (!stopping && (lane ? isHungry(lane) : [...lanes.values()].some(isHungry))) loop.wake();
  }

  /** Wakes the loop then, unless it polls or wakes before anyway. */
  function wakeIn(ms: number): void {
    const at = now() + Math.ceil(ms) + 1;
    if (stopping || ms >= pollMs || at >= timerAt) return;
    clearTimeout(timer);
    timerAt = at;
    timer = setTimeout(() => {
      timerAt = Number.POSITIVE_INFINITY;
      notified = true;
      loop.wake();
    }, at - now());
  }

  /** Sees to it that the loop wakes when the next delivery falls due, or the next probe may start. */
  async function setTimer(): Promise<void> {
    for (const lane of lanes.values()) {
      if (isOpen(lane) && lane.probeAt > now() && (lane.due_at !== null || lane.waiting.length > 0)) wakeIn(lane.probeAt - now());
    }
    const ms = await queue.nextDueIn();
    if (ms !== null) wakeIn(ms);
  }

  const loop = startLoop({
    name: queue.name,
    pauseMs: pollMs,
    logger,
    async pass() {
      await look();
      start(lanes.values());
      const claimed = await claim();
      if (claimed && [...lanes.values()].some((lane) => lane.due_at !== null)) return true;
      await setTimer();
      return false;
    },
  });

  async function finish(): Promise<void> {
    clearTimeout(timer);
    for (const lane of lanes.values()) giveBack(lane.waiting.splice(0));
    const timeUp = setTimeout(() => aborting.abort(), queue.timeoutMs / 2);
    while (inFlight.size > 0 || releasing) await Promise.all([...inFlight, releasing]);
    clearTimeout(timeUp);
    await recorder.flushed();
  }

  return {
    wake() {
      notified = true;
      loop.wake();
    },
    async stop() {
      stopping = true;
      await loop.stop();
      await finish();
    },
    async drained() {
      for (;;) {
        const { due } = await queue.recent();
        if (due.length === 0 && held === 0 && recorder.pending() === 0 && (await queue.thorough()).length === 0) return;
        loop.wake();
        await delay(restMs);
      }
    },
  };
}
