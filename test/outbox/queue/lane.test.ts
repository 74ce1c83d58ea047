import { describe, expect, test } from 'vitest';
import { divide } from '../../../src/outbox/queue/fair-share.js';
import { createLane, isOpen, mayHold, mayStart, noteExchange, room, type Lane } from '../../../src/outbox/queue/lane.js';

const fail = (lane: Lane<unknown>, now: number) => noteExchange(lane, { ok: false, durationMs: 10, now, retryBaseMs: 5000 });
const succeed = (lane: Lane<unknown>, now: number, durationMs = 10) => noteExchange(lane, { ok: true, durationMs, now, retryBaseMs: 5000 });

describe('a lane', () => {
  test('starts with five slots and holds no more than these until it is known to be fast', () => {
    const lane = createLane('e', 'w');
    expect([mayHold(lane), room(lane, 0)]).toEqual([5, 5]);
    for (let i = 0; i < 30; i++) succeed(lane, 0, 5);
    expect(mayHold(lane)).toBe(200);
    for (let i = 0; i < 30; i++) succeed(lane, 0, 500);
    expect(mayHold(lane)).toBe(20);
    lane.inFlight = 5;
    expect(mayStart(lane, 0)).toBe(false);
  });

  test('the breaker opens after five failures in a row: one probe at a time, at growing distances up to the first retry', () => {
    const lane = createLane('e', 'w');
    for (let i = 0; i < 4; i++) fail(lane, 0);
    expect(isOpen(lane)).toBe(false);
    const waits: number[] = [];
    for (let now = 1000, i = 0; i < 7; i++, now = lane.probeAt) {
      fail(lane, now);
      waits.push(lane.probeAt - now);
      expect(room(lane, lane.probeAt - 1)).toBe(0);
      expect(mayStart(lane, lane.probeAt - 1)).toBe(false);
      expect(room(lane, lane.probeAt)).toBe(1);
    }
    expect(waits).toEqual([625, 1250, 2500, 5000, 5000, 5000, 5000]);
    lane.inFlight = 1;
    expect(mayStart(lane, Number.POSITIVE_INFINITY)).toBe(false);
  });

  test('the first success closes the breaker, and each one gives a slot back', () => {
    const lane = createLane('e', 'w');
    for (let i = 0; i < 6; i++) fail(lane, 0);
    const slots: number[] = [];
    for (let i = 0; i < 6; i++) {
      succeed(lane, 1);
      slots.push(lane.slots);
    }
    expect(isOpen(lane)).toBe(false);
    expect(slots).toEqual([1, 2, 3, 4, 5, 5]);
  });
});

describe('fair shares', () => {
  const due = (environment_id: string, id: string, fast = true) => {
    const lane = createLane<never>(environment_id, id);
    lane.due_at = new Date(0);
    if (fast) lane.averageMs = 1;
    return lane;
  };
  const shares = (lanes: Lane<never>[], budget: number, offset = 0) =>
    Object.fromEntries(divide(lanes, budget, 0, offset).map((share) => [share.lane.id, share.room]));

  test('one webhook alone gets all that it has room for', () => {
    expect(shares([due('e', 'a')], 100)).toEqual({ a: 100 });
    expect(shares([due('e', 'a', false)], 100)).toEqual({ a: 5 });
  });

  test('an environment with many webhooks gets no more than one with a single webhook', () => {
    const many = Array.from({ length: 20 }, (_, i) => due('big', `b${i}`));
    const granted = shares([...many, due('small', 's')], 100);
    expect(granted['s']).toBe(50);
    expect(Object.values(granted).reduce((sum, room) => sum + room, 0)).toBe(100);
  });

  test('when the budget is small the turns move on', () => {
    const lanes = ['a', 'b', 'c'].map((id) => due('e', id));
    expect([0, 1, 2].map((offset) => Object.keys(shares(lanes, 5, offset))[0])).toEqual(['a', 'b', 'c']);
  });

  test('lanes with nothing due, or whose breaker waits, get nothing', () => {
    const idle = createLane<never>('e', 'idle');
    const broken = due('e', 'broken');
    for (let i = 0; i < 5; i++) fail(broken, 0);
    expect(shares([idle, broken], 100)).toEqual({});
  });
});
