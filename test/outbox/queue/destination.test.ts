import { describe, expect, test } from 'vitest';
import { divide } from '../../../src/outbox/queue/fair-share.js';
import {
  createDestination,
  isBreakerOpen,
  mayHold,
  mayStart,
  noteOutcome,
  capacityOf,
  type Destination,
} from '../../../src/outbox/queue/destination.js';

const fail = (destination: Destination<unknown>, now: number) => noteOutcome(destination, { ok: false, durationMs: 10 }, now, 5000);
const succeed = (destination: Destination<unknown>, now: number, durationMs = 10) =>
  noteOutcome(destination, { ok: true, durationMs }, now, 5000);

describe('a destination', () => {
  test('starts with five slots and holds no more than these until it is known to be fast', () => {
    const destination = createDestination({ environment_id: 'e', id: 'w' }, 5);
    expect([mayHold(destination), capacityOf(destination, 0)]).toEqual([5, 5]);
    for (let i = 0; i < 30; i++) succeed(destination, 0, 5);
    expect(mayHold(destination)).toBe(200);
    for (let i = 0; i < 30; i++) succeed(destination, 0, 500);
    expect(mayHold(destination)).toBe(20);
    destination.inFlight = 5;
    expect(mayStart(destination, 0)).toBe(false);
  });

  test('the breaker opens after five failures in a row: one probe at a time, at growing distances up to the first retry', () => {
    const destination = createDestination({ environment_id: 'e', id: 'w' }, 5);
    for (let i = 0; i < 4; i++) fail(destination, 0);
    expect(isBreakerOpen(destination)).toBe(false);
    const waits: number[] = [];
    for (let now = 1000, i = 0; i < 7; i++, now = destination.probeAt) {
      fail(destination, now);
      waits.push(destination.probeAt - now);
      expect(capacityOf(destination, destination.probeAt - 1)).toBe(0);
      expect(mayStart(destination, destination.probeAt - 1)).toBe(false);
      expect(capacityOf(destination, destination.probeAt)).toBe(1);
    }
    expect(waits).toEqual([625, 1250, 2500, 5000, 5000, 5000, 5000]);
    destination.inFlight = 1;
    expect(mayStart(destination, Number.POSITIVE_INFINITY)).toBe(false);
  });

  test('the first success closes the breaker, and each one gives a slot back', () => {
    const destination = createDestination({ environment_id: 'e', id: 'w' }, 5);
    for (let i = 0; i < 6; i++) fail(destination, 0);
    const slots: number[] = [];
    for (let i = 0; i < 6; i++) {
      succeed(destination, 1);
      slots.push(destination.slots);
    }
    expect(isBreakerOpen(destination)).toBe(false);
    expect(slots).toEqual([1, 2, 3, 4, 5, 5]);
  });
});

describe('fair shares', () => {
  const due = (environment_id: string, id: string, fast = true) => {
    const destination = createDestination<never>({ environment_id, id }, 5);
    destination.due_at = new Date(0);
    if (fast) destination.averageMs = 1;
    return destination;
  };
  const shares = (destinations: Destination<never>[], budget: number, offset = 0) =>
    Object.fromEntries(divide(destinations, budget, 0, offset).map((share) => [share.destination.id, share.count]));

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
    const destinations = ['a', 'b', 'c'].map((id) => due('e', id));
    expect([0, 1, 2].map((offset) => Object.keys(shares(destinations, 5, offset))[0])).toEqual(['a', 'b', 'c']);
  });

  test('destinations with nothing due, or whose breaker waits, get nothing', () => {
    const idle = createDestination<never>({ environment_id: 'e', id: 'idle' }, 5);
    const broken = due('e', 'broken');
    for (let i = 0; i < 5; i++) fail(broken, 0);
    expect(shares([idle, broken], 100)).toEqual({});
  });
});
