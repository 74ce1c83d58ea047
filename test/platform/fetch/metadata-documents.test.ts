// How many documents of clients are asked for at once, and of whom.

import { expect, test } from 'vitest';
import { createMetadataDocuments } from '../../../src/platform/fetch/metadata-documents.js';
import { createAdjustableClock } from '../../../src/platform/clock.js';
import type { GuardedFetch, OutboundResponse } from '../../../src/platform/fetch/fetch.js';
import { silentLogger } from '../../../src/platform/log/logger.js';

/** A network on which nobody answers before they are let. */
function hangingNetwork() {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const request = (url: string | URL): Promise<OutboundResponse> => {
    asked.push(String(url));
    const headers = { 'content-type': 'application/json' };
    const body = Buffer.from(JSON.stringify({ client_id: String(url) }));
    return new Promise((resolve) => answers.push(() => resolve({ status: 200, headers, body, truncated: false, duration_ms: 1 })));
  };
  return { asked, fetch: { request } as unknown as GuardedFetch, answer: () => answers.splice(0).forEach((one) => one()) };
}
const outcome = async (read: ReturnType<ReturnType<typeof createMetadataDocuments>['read']>) => {
  const one = await read;
  return 'failed' in one ? one.failed : 'read';
};

test('of one host five, of clients without a row fifteen, twenty in all: who hangs holds up no others (attack 30.788)', async () => {
  const { asked, fetch, answer } = hangingNetwork();
  const documents = createMetadataDocuments({ fetch, clock: createAdjustableClock(), logger: silentLogger });
  const reads = Array.from({ length: 50 }, (_, n) => outcome(documents.read(`https://slow.example/${n}`, false)));
  expect(asked).toHaveLength(5);
  for (let n = 0; n < 20; n++) reads.push(outcome(documents.read(`https://slow-${n}.example/`, false)));
  expect(asked).toHaveLength(15);
  for (let n = 0; n < 10; n++) reads.push(outcome(documents.read(`https://used-${n}.example/`, true)));
  expect(asked).toHaveLength(20);
  const again = outcome(documents.read('https://slow.example/0', false));
  expect(asked).toHaveLength(20);
  answer();
  const outcomes = await Promise.all(reads);
  expect(outcomes.filter((one) => one === 'read')).toHaveLength(20);
  expect(outcomes.filter((one) => one === 'busy')).toHaveLength(60);
  expect(await again).toBe('read');
  const later = outcome(documents.read('https://slow.example/49', false));
  answer();
  expect(await later).toBe('read');
});
