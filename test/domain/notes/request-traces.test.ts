// What waits to be written is bounded, and never a secret.
import { expect, test } from 'vitest';
import { maskedName, maskedUri } from '../../../src/domain/request-traces/shown-text.js';
import { createWaitingTraces, type WaitingTrace } from '../../../src/domain/notes/request-traces.js';

const silent = { debug: () => undefined };
const at = new Date('2026-05-04T10:00:30Z');
const trace = (changes: Partial<WaitingTrace> = {}): WaitingTrace => ({
  environment_id: 'one',
  request_id: 'r',
  occurred_at: at,
  error: 'invalid_grant',
  client_id: null,
  claimed_client_id: null,
  step: { at: at.toISOString(), step: 'token', outcome: 'refused', rule: 'code_expired', detail: {}, request_id: 'r' },
  code: null,
  ...changes,
});

test('refusals of one kind for one client end at sixty a minute, and what is beyond is counted', () => {
  const waiting = createWaitingTraces(silent);
  for (let i = 0; i < 100; i++) waiting.add(trace({ client_id: 'busy' }));
  waiting.add(trace({ client_id: 'other' }));
  const { traces, dropped } = waiting.take();
  expect([traces.length, dropped, waiting.take().dropped]).toEqual([61, 40, 0]);
  waiting.add(trace({ client_id: 'busy' }));
  waiting.add(trace({ client_id: 'busy', occurred_at: new Date(at.getTime() + 60_000) }));
  expect(waiting.take()).toMatchObject({ traces: [{ client_id: 'busy' }], dropped: 1 });
});

test('made-up clients share what one client has, and leave room for the others (attack 37.752)', () => {
  const waiting = createWaitingTraces(silent);
  for (let i = 0; i < 10_000; i++) waiting.add(trace({ claimed_client_id: `made-up-${i}` }));
  waiting.add(trace({ client_id: 'honest' }));
  const { traces, dropped } = waiting.take();
  expect([traces.length, traces.at(-1)?.client_id, dropped]).toEqual([61, 'honest', 9_940]);
});

test('an environment ends at six hundred a minute, and all together at a thousand', () => {
  const waiting = createWaitingTraces(silent);
  for (const environment_id of ['one', 'two', 'three'])
    for (let i = 0; i < 700; i++) waiting.add(trace({ environment_id, client_id: `client ${i}` }));
  const { traces, dropped } = waiting.take();
  expect([traces.length, dropped]).toEqual([1_000, 1_100]);
  waiting.add(trace({ environment_id: 'four' }));
  waiting.putBack(traces);
  expect(waiting.take()).toMatchObject({ traces: { length: 1_000 }, dropped: 1 });
});

test('an address is told without user, password and the values of its query', () => {
  expect(maskedUri('https://ann:pw@app.example/cb?code=abc&x=1#frag')).toBe('https://...@app.example/cb?code=...&x=...#...');
  expect(maskedUri(`https://app.example/${'a'.repeat(45)}/cb`)).toBe('https://app.example/[hidden]/cb');
  expect(maskedUri('https://app.example/\u202ecb\n')).toBe('https://app.example/%E2%80%AEcb%0A');
});

test('what looks like a secret in a name is hidden', () => {
  for (const secret of ['cs_5f0c1b2a9d8e7f6a', 'rt_abcdefgh12345', 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', 'x'.repeat(43)])
    expect([secret, maskedName(`read-${secret}`).includes(secret)]).toEqual([secret, false]);
  expect(maskedName('https://api.example/notes.read')).toBe('https://api.example/notes.read');
  expect(maskedName('orders:read')).toBe('orders:read');
});
