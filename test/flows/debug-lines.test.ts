// LOG_LEVEL=debug: a request's statements and other parts with their durations, and the rule by which one was refused.
import { expect, test } from 'vitest';
import { addClient, addGrant, addResource } from '../support/data.js';
import { oauthPost } from '../support/oauth.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService(() => startTestService({ LOG_LEVEL: 'debug' }));

const lines = () => service.log.map((line) => JSON.parse(line) as Record<string, unknown>);
const request = (request_id: unknown) => lines().find((line) => line['event'] === 'http.request' && line['request_id'] === request_id);

async function ask(resource: string, format: 'jwt' | 'opaque' = 'opaque') {
  const ctx = await service.context();
  const client = await addClient(ctx, { grant_types: ['client_credentials'] });
  await addGrant(ctx, client, await addResource(ctx, { identifier: `https://api.example/${format}`, token_format: format }));
  return oauthPost(service.url, '/oauth/token', client, { grant_type: 'client_credentials', resource });
}

test('each statement of a request is a line with its name, its duration and the trace of the request', async () => {
  const answer = await ask('https://api.example/opaque');
  const { trace_id } = request(answer.headers.get('x-request-id')) ?? {};
  expect(trace_id).toMatch(/^[0-9a-f]{32}$/);
  const spans = lines().filter((line) => line['event'] === 'debug.span' && line['trace_id'] === trace_id);
  expect(spans.filter(({ kind }) => kind === 'statement').map(({ name }) => name)).toContain('access_tokens.insert_for_client');
  for (const { ms } of spans) expect(ms).toBeGreaterThanOrEqual(0);
});

test('a refusal says by which rule, and what was compared', async () => {
  const answer = await ask('https://api.example/unknown', 'jwt');
  expect(answer.status).toBe(400);
  const rules = lines().filter((line) => line['event'] === 'debug.rule' && line['request_id'] === answer.headers.get('x-request-id'));
  expect(rules.map(({ step, outcome, rule }) => ({ step, outcome, rule }))).toEqual([
    { step: 'token', outcome: 'refused', rule: 'unknown_resource' },
  ]);
});

test('without it there is neither', async () => {
  const quiet = await startTestService();
  try {
    await fetch(`${quiet.url}/oauth/token`, { method: 'POST' });
    expect(quiet.log.filter((line) => line.includes('"debug.'))).toEqual([]);
  } finally {
    await quiet.stop();
  }
});
