import { expect, test } from 'vitest';
import { memo, ofEach, once } from '../../src/lib/memo.js';

test('once: made at the first call, and again only where that failed', () => {
  let calls = 0;
  const value = once(() => {
    calls += 1;
    if (calls === 1) throw new Error('not yet');
    return null;
  });
  expect(value).toThrow('not yet');
  expect([value(), value(), calls]).toEqual([null, null, 2]);
});

test('memo: one answer for each key; of more than it may remember the oldest goes', () => {
  const asked: string[] = [];
  const upper = memo((key: string, about: string) => {
    asked.push(key);
    if (key === 'bad') throw new Error(about);
    return `${key.toUpperCase()} ${about}`;
  }, 2);
  expect(['a', 'b', 'a'].map((key) => upper(key, 'first'))).toEqual(['A first', 'B first', 'A first']);
  expect(() => upper('bad', 'no')).toThrow('no');
  expect(() => upper('bad', 'again')).toThrow('again');
  upper('c', 'first');
  expect([upper('b', 'later'), upper('a', 'later')]).toEqual(['B first', 'A later']);
  expect(asked).toEqual(['a', 'b', 'bad', 'bad', 'c', 'a']);
});

test('ofEach: one value for each object, null too', () => {
  let made = 0;
  const ofOwner = ofEach((owner: { readonly id: number }) => (made++, owner.id === 0 ? null : owner.id));
  const [one, other] = [{ id: 0 }, { id: 1 }];
  expect([ofOwner(one), ofOwner(one), ofOwner(other), ofOwner({ id: 1 }), made]).toEqual([null, null, 1, 1, 3]);
});
