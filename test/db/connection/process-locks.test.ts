// Who waits for a lock that one transaction of the process at a time holds.
import { describe, expect, test } from 'vitest';
import { Unavailable } from '../../../src/db/connection/failures.js';
import { LockTaken, TransactionLocks, ProcessLocks } from '../../../src/db/connection/process-locks.js';
import { deadlineIn, noDeadline, type Deadline } from '../../../src/lib/deadline.js';

describe('locks within a process', () => {
  test('a lock that one holds another has to wait for, and gets in the order of asking when it ends', async () => {
    const locks = new ProcessLocks();
    const [first, second, third] = [new TransactionLocks(locks), new TransactionLocks(locks), new TransactionLocks(locks)];
    first.take('logos');
    first.take('logos');
    const order: string[] = [];
    const queue = async (name: string, own: TransactionLocks) => {
      expect(() => own.take('logos')).toThrow(LockTaken);
      await own.wait(noDeadline);
      order.push(name);
      own.take('logos');
      own.end();
    };
    const waiting = [queue('second', second), queue('third', third)];
    new TransactionLocks(locks).take('page_texts');
    expect([order, locks.state()]).toMatchObject([[], { queue: 'process_locks', length: 2, refused: 0 }]);
    first.end();
    await Promise.all(waiting);
    expect([order, locks.state().length]).toEqual([['second', 'third'], 0]);
    new TransactionLocks(locks).take('logos');
  });

  test('two that want the same things in opposite orders both get them', async () => {
    const locks = new ProcessLocks();
    const [one, other] = [new TransactionLocks(locks), new TransactionLocks(locks)];
    one.take('a');
    other.take('b');
    expect(() => one.take('b')).toThrow(LockTaken);
    expect(() => other.take('a')).toThrow(LockTaken);
    const both = [one, other].map(async (own) => {
      await own.wait(deadlineIn(5000));
      own.take('a');
      own.take('b');
      own.end();
    });
    await Promise.all(both);
    expect(locks.state().length).toBe(0);
  });

  test('who waits in vain is refused when its time is up, and leaves the line to the others', async () => {
    const locks = new ProcessLocks();
    const [holder, hurried, patient] = [new TransactionLocks(locks), new TransactionLocks(locks), new TransactionLocks(locks)];
    holder.take('logos');
    for (const own of [hurried, patient]) expect(() => own.take('logos')).toThrow(LockTaken);
    const late = hurried.wait(deadlineIn(20));
    const later = patient.wait(deadlineIn(5000));
    await expect(late).rejects.toBeInstanceOf(Unavailable);
    expect(locks.state().length).toBe(1);
    hurried.end();
    holder.end();
    await later;
    expect(() => new TransactionLocks(locks).take('logos')).toThrow(LockTaken);
  });

  test('when two hundred wait whoever comes then is refused at once', async () => {
    const locks = new ProcessLocks();
    new TransactionLocks(locks).take('logos');
    const asking = () => {
      const own = new TransactionLocks(locks);
      expect(() => own.take('logos')).toThrow(LockTaken);
      return own.wait(deadlineIn(500));
    };
    const waiting = Promise.allSettled(Array.from({ length: 200 }, asking));
    await expect(asking()).rejects.toThrow('too many wait for logos');
    expect(locks.state()).toMatchObject({ length: 200, refused: 1 });
    expect((await waiting).every(({ status }) => status === 'rejected')).toBe(true);
    expect(locks.state()).toMatchObject({ length: 0, wait: 0 });
  });

  test('whose caller has gone makes room in a full line', async () => {
    const locks = new ProcessLocks();
    new TransactionLocks(locks).take('logos');
    const line = Array.from({ length: 200 }, () => deadlineIn(5000));
    const asking = (deadline: Deadline) => {
      const own = new TransactionLocks(locks);
      expect(() => own.take('logos')).toThrow(LockTaken);
      return own.wait(deadline);
    };
    const waiting = line.map((deadline) => asking(deadline).catch((error: unknown) => error));
    for (const deadline of line.slice(0, 3)) deadline.cancel();
    const late = asking(deadlineIn(20));
    expect(await Promise.all(waiting.slice(0, 3))).toEqual(Array(3).fill(expect.any(Unavailable)));
    expect(locks.state()).toMatchObject({ length: 198, refused: 0 });
    await expect(late).rejects.toThrow('logos was not free in time');
  });
});
