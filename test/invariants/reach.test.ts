// No write raises the reach of anything beyond what its actor holds: every operation of the Management API with every attribute, relationship and
// verb, by actors of random permissions, judged by a model of reach that shares nothing with the service.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/api-resources/management-permissions.js';
import { registry } from '../../src/management/resources/index.js';
import { createGuardedFetch, type GuardedFetch, type OutboundResponse } from '../../src/platform/fetch/fetch.js';
import { Api, manage, type ApiAnswer, managementToken, managementClient, startManagedService } from '../support/management.js';
import { preparations, walkedDocument } from '../support/reach/interesting.js';
import { escalations, modelOf, type Model } from '../support/reach/model.js';
import { randomFrom } from '../support/reach/random.js';
import { saveState } from '../support/reach/saved-state.js';
import { stepsOf, type Step } from '../support/reach/steps.js';
import { makeWorld, type World } from '../support/reach/world.js';
import type { TestService } from '../support/service.js';

let service: TestService;
let world: World;
let before: Model;
let restore: () => Promise<void>;
let observer: pg.Client;
/** What stands at the address of the one document. */
const walkedClient: OutboundResponse = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify({ client_id: walkedDocument, client_name: 'Walked', redirect_uris: ['https://walked.example/cb'] })),
  truncated: false,
  duration_ms: 0,
};
const callers = new Map<string, Api>();
const seed = Number(process.env['REACH_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const random = randomFrom(seed);

beforeAll(async () => {
  const guarded = createGuardedFetch({ allowPrivateNetwork: true });
  const fetch: GuardedFetch = {
    ...guarded,
    request: async (url, options) => (String(url) === walkedDocument ? walkedClient : guarded.request(url, options)),
  };
  service = await startManagedService({}, { overrides: { fetch } });
  world = await makeWorld(await manage(service.url), await service.context());
  observer = new pg.Client({ connectionString: service.databaseUrl });
  await observer.connect();
  restore = await saveState(observer);
  before = await modelOf(observer);
});
afterAll(async () => {
  await observer?.end();
  await service?.stop();
});

/** A caller who holds these permissions and no others. */
async function callerOf(permissions: ReadonlySet<string>): Promise<Api> {
  const scope = [...permissions].sort().join(' ');
  const known = callers.get(scope) ?? new Api(service.url, await managementToken(service.url, managementClient, { scope }));
  callers.set(scope, known);
  return known;
}

/** Permissions of a few kinds, drawn once per operation: nothing beside what the operation needs, some, nearly all. */
const kinds = 12;
const draws = Array.from({ length: kinds }, (_, kind) => {
  if (kind < kinds / 2) return new Set<string>();
  const left = managementPermissions[Math.floor(random() * managementPermissions.length)];
  return new Set(managementPermissions.filter((name) => (kind === kinds - 1 ? name !== left : random() < 0.5)));
});
const held = (step: Step) => new Set([...step.needs, ...(draws[Math.floor(random() * kinds)] ?? [])]);

async function send(caller: Api, step: Step): Promise<ApiAnswer> {
  const preparation = preparations[step.pair];
  if (preparation !== undefined) await service.deps.knex.raw(preparation);
  const answer = await caller.request(step.method, step.path, step.body === undefined ? {} : { body: step.body });
  if (preparation !== undefined && answer.status >= 300) await restore();
  return answer;
}

/** What came of a step in the tables, after which everything is as before, but for what makes no difference. */
async function cameOf(permissions: ReadonlySet<string>, step: Step): Promise<string[]> {
  const after = await modelOf(observer);
  const same = after.size === before.size && [...after].every(([name, now]) => before.get(name)?.text === now.text);
  if (same && step.method === 'PATCH') return [];
  await restore();
  service.deps.cache.clear();
  return escalations(before, after, permissions);
}

test('no operation with any attribute raises the reach of anything beyond what its actor holds (attack 22.242)', async () => {
  const steps = stepsOf(registry, world, random);
  const found: string[] = [];
  const [everything, done, refused] = [new Set(managementPermissions), new Set<string>(), new Set<string>()];
  for (const step of steps) {
    const permissions = held(step);
    const answer = await send(await callerOf(permissions), step);
    if (answer.status >= 500) found.push(`${step.pair}: ${answer.status}`);
    if (answer.body['errors']?.[0]?.code === 'scope_escalation') refused.add(step.pair);
    if (answer.status >= 300) continue;
    for (const what of await cameOf(permissions, step))
      found.push(`${step.pair} ${step.path} ${JSON.stringify(step.body)} by ${[...permissions].slice(0, 5).join(' ')}: ${what}`);
    done.add(step.pair);
  }
  // A pair counts as walked once it was done: by the actors above or, where they may not, by one who may do everything.
  const left: Record<string, string> = {};
  for (const step of steps) {
    if (done.has(step.pair)) continue;
    const answer = await send(await callerOf(everything), step);
    if (answer.status < 300) {
      done.add(step.pair);
      delete left[step.pair];
      await cameOf(everything, step);
    } else left[step.pair] = `${answer.status} ${answer.text.slice(0, 300)}`;
  }
  console.log(
    `reach: ${done.size} operation-attribute pairs in ${steps.length} requests, ${refused.size} of them refused to somebody, seed ${seed}`,
  );
  expect({ seed, found: found.slice(0, 20), left }).toEqual({ seed, found: [], left: {} });
}, 600_000);
