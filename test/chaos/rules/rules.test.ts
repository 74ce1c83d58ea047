import { describe, expect, test } from 'vitest';
import { check, reportOf } from '../check.js';
import { operation as op, told } from '../history-builder.js';
import type { Aspects, Operation } from '../history.js';

const judged = (...history: Operation[]) => told(check(history));

describe('R1 codes', () => {
  const redeems: Aspects = { redeems: 'c' };
  test('used once, refused after that: good', () => expect(judged(op('ok', 0, 1, redeems), op('refused', 2, 3, redeems))).toEqual([]));
  test('an unknown try may not have used it', () => expect(judged(op('unknown', 0, 1, redeems), op('ok', 2, 3, redeems))).toEqual([]));
  test('refused while the accepted one was under way: good', () =>
    expect(judged(op('refused', 1, 2, redeems), op('ok', 0, 5, redeems))).toEqual([]));
  test('used twice', () => expect(judged(op('ok', 0, 1, redeems), op('ok', 2, 3, redeems))).toEqual(['R1 c was redeemed twice']));
  test('refused, and used after that', () =>
    expect(judged(op('refused', 0, 1, redeems), op('ok', 2, 3, redeems))).toEqual(['R1 c was refused, and redeemed after that']));
});

describe('R7 answers', () => {
  const answered = (status: number, retry_after?: string): Operation => ({
    ...op('unknown', 0, 1, { uses: ['token:t'] }),
    status,
    ...(retry_after !== undefined && { retry_after }),
  });
  test('503 and 429 that say when to come again, none at all, and what a receiver of deliveries answers: good', () =>
    expect(judged(answered(503, '2'), answered(429, '60'), answered(0), { ...answered(500), replica: '-' })).toEqual([]));
  test('any other server error', () =>
    expect(judged(answered(500), answered(502, '2'))).toEqual(['R7 uses was answered by 500', 'R7 uses was answered by 502']));
  test('503 and 429 that do not say when to come again', () =>
    expect(judged(answered(503), answered(429, '0'))).toEqual([
      'R7 uses was answered by 503 without Retry-After',
      'R7 uses was answered by 429 without Retry-After',
    ]));
});

describe('R2 refresh tokens', () => {
  const presents = (successor: string | null): Aspects => ({ presents: { token: 't', family: 'f', successor } });
  test('the same successor to everybody who presents it within the tolerance, and to nobody later: good', () => {
    const history = [op('unknown', 0, 1, presents(null)), op('ok', 2, 3, presents('s')), op('ok', 29_000, 29_001, presents('s'))];
    expect(judged(...history, op('refused', 40_000, 40_001, presents(null)))).toEqual([]);
  });
  test('two successors', () =>
    expect(judged(op('ok', 0, 5, presents('s')), op('ok', 1, 4, presents('z')))).toEqual(['R2 refresh:t has two successors']));
  test('itself', () => expect(judged(op('ok', 0, 5, presents('t')))).toEqual(['R2 refresh:t was not rotated']));
  test('the successor long after the tolerance', () =>
    expect(judged(op('ok', 0, 5, presents('s')), op('ok', 31_006, 31_007, presents('s')))).toContain(
      'R2 refresh:t was accepted long after it was rotated',
    ));
});

describe('R3 what is issued', () => {
  const issued = op('ok', 0, 1, { issues: ['token:a'] });
  const refused = op('refused', 10, 11, { uses: ['token:a'] });
  test('accepted, or not answered: good', () =>
    expect(judged(issued, op('ok', 5, 6, { uses: ['token:a'] }), op('unknown', 10, 11, { uses: ['token:a'] }))).toEqual([]));
  test('refused after a withdrawal that may have happened: good', () =>
    expect(judged(issued, op('unknown', 2, 3, { withdraws: 'token:a' }), refused)).toEqual([]));
  test('refused before its issue was acknowledged: good', () =>
    expect(judged(op('ok', 0, 20, { issues: ['token:a'] }), refused)).toEqual([]));
  test('a code that somebody else tries at the same time, or that is old: good', () => {
    const redeem: Aspects = { redeems: 'c', uses: ['code:c'] };
    const code = op('ok', 0, 1, { issues: ['code:c'] });
    expect(judged(code, op('unknown', 2, 9, redeem), op('refused', 3, 4, redeem))).toEqual([]);
    expect(judged(code, op('refused', 59_000, 59_001, redeem))).toEqual([]);
  });
  test('a refresh token that is refused long after it was presented first: good; within the tolerance, bad', () => {
    const presents: Aspects = { presents: { token: 't', family: 'f', successor: 's' }, uses: ['refresh:t', 'family:f'] };
    const history = [op('ok', 0, 1, { issues: ['refresh:t'] }), op('ok', 2, 3, presents)];
    expect(judged(...history, op('refused', 33_000, 33_001, presents))).toEqual([]);
    expect(judged(...history, op('refused', 20_000, 20_001, presents))).toHaveLength(1);
  });
  test('refused although nobody withdrew it', () => {
    expect(judged(issued, refused)).toEqual(['R3 token:a was acknowledged, nobody withdrew it, and it is refused']);
    expect(judged(issued, op('refused', 2, 3, { withdraws: 'token:a' }), refused)).toHaveLength(1);
    expect(judged(issued, refused, op('ok', 12, 13, { withdraws: 'token:a' }))).toHaveLength(1);
  });
  test('a fresh code that is refused at the first try', () =>
    expect(judged(op('ok', 0, 1, { issues: ['code:c'] }), op('refused', 2, 3, { redeems: 'c', uses: ['code:c'] }))).toHaveLength(1));
});

describe('R3 records', () => {
  const write = (value: string | null): Aspects => ({ writes: { record: 'r', value, event_type: null } });
  const read = (value: string | null): Aspects => ({ reads: { record: 'r', value } });
  const created = op('ok', 0, 1, write('1'));
  test('what was written last, or is being written: good', () => {
    const history = [created, op('ok', 2, 3, write('2')), op('ok', 4, 5, read('2')), op('ok', 6, 9, write('3'))];
    expect(judged(...history, op('ok', 7, 8, read('2')))).toEqual([]);
    expect(judged(...history, op('ok', 7, 8, read('3')))).toEqual([]);
  });
  test('a write whose outcome is unknown may appear late, or never', () => {
    const history = [created, op('unknown', 2, 3, write('2')), op('ok', 4, 5, write('3'))];
    expect(judged(...history, op('ok', 6, 7, read('3')), op('ok', 8, 9, read('2')))).toEqual([]);
    expect(judged(op('unknown', 0, 1, write('1')), op('ok', 2, 3, read(null)))).toEqual([]);
  });
  test('a repetition of the same write counts once: the first that is answered acknowledges it', () => {
    const history = [created, op('unknown', 2, 3, write('2')), op('ok', 4, 5, write('2'))];
    expect(judged(...history, op('ok', 6, 7, read('2')))).toEqual([]);
    expect(judged(...history, op('ok', 6, 7, read('1')))).toEqual(['R3 r shows an older value than the one acknowledged']);
  });
  test('absent after a removal that may have happened: good; there again after one that did', () => {
    expect(judged(created, op('unknown', 2, 3, write(null)), op('ok', 4, 5, read(null)))).toEqual([]);
    expect(judged(created, op('unknown', 2, 3, write(null)), op('ok', 4, 5, read('1')))).toEqual([]);
    expect(judged(created, op('ok', 2, 3, write(null)), op('ok', 4, 5, read('1')))).toEqual(['R3 r is there again after it was removed']);
  });
  test('lost, and lost after somebody saw it', () => {
    expect(judged(created, op('ok', 2, 3, read(null)))).toEqual(['R3 r was acknowledged, nobody removed it, and it is not there']);
    expect(judged(op('unknown', 0, 1, write('1')), op('ok', 2, 3, read('1')), op('ok', 4, 5, read(null)))).toHaveLength(1);
  });
  test('an older value comes back', () => {
    const history = [created, op('ok', 2, 3, write('2')), op('ok', 4, 5, read('1'))];
    expect(judged(...history)).toEqual(['R3 r shows an older value than the one acknowledged']);
  });
  test('an unknown write that was seen, then overwritten, must not come back', () => {
    const history = [created, op('unknown', 2, 3, write('2')), op('ok', 4, 5, read('2')), op('ok', 6, 7, write('3'))];
    expect(judged(...history, op('ok', 8, 9, read('2')))).toHaveLength(1);
  });
  test('a refused value, and one that nobody wrote', () => {
    expect(judged(created, op('refused', 2, 3, write('2')), op('ok', 4, 5, read('2')))).toEqual(['R3 r shows a value that was refused']);
    expect(judged(created, op('ok', 4, 5, read('x')))).toEqual(['R3 r shows "x", which nobody wrote']);
  });
});

describe('R4 what is withdrawn', () => {
  const withdrawn = op('ok', 0, 100, { withdraws: 'client:a' });
  const uses: Aspects = { uses: ['token:t', 'client:a'] };
  test('accepted within a second, refused later: good', () =>
    expect(judged(withdrawn, op('ok', 1100, 3000, uses), op('refused', 1101, 1102, uses))).toEqual([]));
  test('a withdrawal that is unknown or refused ends nothing', () => {
    expect(judged(op('unknown', 0, 1, { withdraws: 'client:a' }), op('ok', 5000, 5001, uses))).toEqual([]);
    expect(judged(op('refused', 0, 1, { withdraws: 'client:a' }), op('ok', 5000, 5001, uses))).toEqual([]);
  });
  test('accepted more than a second later', () =>
    expect(judged(withdrawn, op('ok', 1101, 1102, uses))).toEqual(['R4 client:a was accepted 1001 ms after it was withdrawn']));
  test('a replayed code ends what it gave', () => {
    const history = [op('ok', 0, 1, { redeems: 'c' }), op('refused', 2, 3, { redeems: 'c' })];
    expect(judged(...history, op('ok', 2000, 2001, { uses: ['family:c'] }))).toHaveLength(1);
    expect(judged(...history, op('refused', 2000, 2001, { uses: ['family:c'] }))).toEqual([]);
  });
  test('a refresh token that comes again too late ends its grant', () => {
    const presents = (successor: string | null): Aspects => ({ presents: { token: 't', family: 'f', successor } });
    const history = [op('ok', 0, 1, presents('s')), op('refused', 32_000, 32_001, presents(null))];
    expect(judged(...history, op('ok', 34_000, 34_001, { uses: ['family:f'] }))).toHaveLength(1);
    expect(judged(...history, op('refused', 34_000, 34_001, { uses: ['family:f'] }))).toEqual([]);
  });
});

describe('R5 deliveries', () => {
  const written = { record: 'r', value: '1', event_type: 'role.created' };
  const delivers = (event_id: string, bytes = 'b'): Aspects => ({
    delivers: { event_id, bytes, record: 'r', value: '1', event_type: 'role.created' },
  });
  const write = op('ok', 0, 1, { writes: written });
  test('delivered, failed and repeated, alike each time: good', () =>
    expect(judged(write, op('refused', 2, 2, delivers('e')), op('ok', 3, 3, delivers('e')), op('ok', 4, 4, delivers('e')))).toEqual([]));
  test('an unknown write may have an event or none; a refused one has none', () => {
    const unknown = op('unknown', 0, 1, { writes: written });
    expect(judged(unknown)).toEqual([]);
    expect(judged(unknown, op('ok', 2, 2, delivers('e')))).toEqual([]);
    const refused = op('refused', 0, 1, { writes: written });
    expect(judged(refused, op('ok', 2, 2, delivers('e')))).toEqual(['R5 role.created of r "1" arrived, but was never written']);
  });
  test('never delivered, or failed each time', () => {
    expect(judged(write)).toEqual(['R5 role.created of r "1" never arrived']);
    expect(judged(write, op('refused', 2, 2, delivers('e')))).toEqual(['R5 role.created of r "1" never arrived']);
  });
  test('two event ids', () =>
    expect(judged(write, op('ok', 2, 2, delivers('e')), op('ok', 3, 3, delivers('f')))).toEqual([
      'R5 role.created of r "1" has two event ids',
    ]));
  test('other bytes', () =>
    expect(judged(write, op('refused', 2, 2, delivers('e')), op('ok', 3, 3, delivers('e', 'x')))).toEqual([
      'R5 e came with different bytes',
    ]));
});

describe('R6 limits', () => {
  const takes = (reset_ms: number) => ({ takes: { window: 'w', limit: 2, window_ms: 1000, reset_ms } });
  /** In windows that end with each second; the answer says it a little too late. */
  const take = (start: number, outcome: 'ok' | 'refused' | 'unknown' = 'ok') => op(outcome, start, start + 1, takes(1100 - (start % 1000)));
  test('as many as allowed in every window, across their border too: good', () =>
    expect(judged(take(800), take(900), take(950, 'refused'), take(960, 'unknown'), take(1000), take(1001))).toEqual([]));
  test('a request whose answer took too long to tell the window', () =>
    expect(judged(take(0), take(1), op('ok', 500, 1200, takes(1100)))).toEqual([]));
  test('one too many, in whichever window', () => {
    expect(judged(take(0), take(1), take(2))).toEqual(['R6 w 3 requests were let through in one window of 1000 ms; 2 may be']);
    expect(judged(take(0), take(900), take(1100), take(1200), take(1950))).toHaveLength(1);
  });
  test('counting that starts anew by itself', () => {
    const anew = (start: number) => op('ok', start, start + 1, takes(1100));
    expect(judged(anew(0), anew(1), anew(300), anew(301))).toHaveLength(1);
  });
  test('after a crash of the database counting starts anew, once', () => {
    const crash = op('ok', 5, 20, { fault: { crash: true } });
    expect(judged(take(0), take(1), crash, take(30), take(31))).toEqual([]);
    expect(judged(take(0), take(1), crash, take(30), take(31), take(32))).toHaveLength(1);
    expect(judged(take(0), take(1), op('ok', 5, 20, { fault: { crash: false } }), take(30))).toHaveLength(1);
  });
});

test('a report names the rule and shows what broke it, and nothing else', () => {
  const redeems: Aspects = { redeems: 'c' };
  const [violation] = check([op('ok', 0, 1, redeems), op('ok', 2, 3, redeems), op('ok', 5, 6, { redeems: 'other' })]);
  const report = violation ? reportOf(violation) : '';
  expect(report).toContain('VIOLATION of R1 a code is used at most once');
  expect(report.split('\n').filter((line) => line.includes('#'))).toHaveLength(2);
  expect(report).not.toContain('other');
});
