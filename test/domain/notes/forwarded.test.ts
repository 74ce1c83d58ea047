import { expect, test } from 'vitest';
import { createForwardedNotes } from '../../../src/domain/notes/forwarded.js';

function notes() {
  let now = 0;
  const made = createForwardedNotes(() => now);
  return { ...made, pass: (ms: number) => (now += ms) };
}

const sample = (host: string | null, proto: string | null = 'https') => ({ host, proto, peer: '::ffff:10.0.0.7', trusted: false });

test('one request a second is looked at, and forgotten after ten minutes', () => {
  const { isDue, note, report, pass } = notes();
  expect(isDue()).toBe(true);
  note(sample('id.example.com'));
  expect(isDue()).toBe(false);
  pass(1000);
  expect(isDue()).toBe(true);
  note(sample(null, null));
  expect(report()).toEqual({ sampled: 2, seen: [{ host: 'id.example.com', proto: 'https', peer: '10.0.0.7', trusted: false, count: 1 }] });
  pass(600_001);
  expect(report()).toEqual({ sampled: 0, seen: [] });
});

test('what is no host and no protocol is not kept, whatever callers send (attack 34.712)', () => {
  const { note, report } = notes();
  for (const text of ['a b', '$(reboot)', 'x\u001b[31m', "'; drop", `${'a'.repeat(300)}.example`, 'evil.example/path', '-x', '<b>'])
    note(sample(text, text));
  expect(report()).toEqual({ sampled: 8, seen: [] });
  note(sample('ID.example.com:8443, inner', 'HTTPS, http'));
  expect(report().seen).toEqual([expect.objectContaining({ host: 'id.example.com:8443', proto: 'https' })]);
});

test('however many addresses are named, the five most frequent are told', () => {
  const { note, report } = notes();
  for (let index = 0; index < 500; index++) note(sample(`h${index % 60}.example`));
  const { sampled, seen } = report();
  expect([sampled, seen.length]).toEqual([120, 5]);
});
