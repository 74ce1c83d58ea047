import pg from 'pg';
import { managementPermissions } from '../../../src/domain/reach/management-permissions.js';
import type { AuditLogRow } from '../../../src/db/tables/audit_logs.js';
import { createGuardedFetch, type GuardedFetch, type OutboundResponse } from '../../../src/platform/fetch/fetch.js';
import { Api, manage, type ApiAnswer, managementToken, managementClient, startManagedService } from '../management.js';
import type { TestService } from '../service.js';
import { preparations, walkedDocument } from './interesting.js';
import { escalations, modelOf, type Model } from './model.js';
import { randomFrom } from './random.js';
import { saveState } from './saved-state.js';
import type { Step } from './steps.js';
import { makeWorld, paymentsApi, type World } from './world.js';

/** What stands at the address of the one document. */
const walkedClient: OutboundResponse = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify({ client_id: walkedDocument, client_name: 'Walked', redirect_uris: ['https://walked.example/cb'] })),
  truncated: false,
  duration_ms: 0,
};

export type Walked = {
  readonly seed: number;
  /** What somebody brought about who may not have, in words. */
  readonly found: string[];
  /** Pairs that nobody could do, not even one who may do everything, with the refusal. */
  readonly left: Readonly<Record<string, string>>;
};

/** A service with records near and far, through which walks lead. */
export type Walk = {
  readonly service: TestService;
  readonly world: World;
  readonly random: () => number;
  /** Holds everything. */
  readonly api: Api;
  /** What the audit log said of each write that was done. */
  readonly audited: AuditLogRow[];
  /** Takes the steps, each by somebody of drawn permissions, and judges what came of them. */
  walk(steps: readonly Step[]): Promise<Walked>;
  stop(): Promise<void>;
};

/** What one of the callers holds at an API of somebody's own. */
const refund = `${paymentsApi}#refund`;

/** How many kinds of callers there are: nothing beside what the operation needs, some, nearly all; every second of them may refund. */
const kinds = 12;

const drawn = (random: () => number) =>
  Array.from({ length: kinds }, (_, kind) => {
    const more = kind % 2 === 0 ? [refund] : [];
    if (kind < kinds / 2) return new Set<string>(more);
    const left = managementPermissions[Math.floor(random() * managementPermissions.length)];
    return new Set([...more, ...managementPermissions.filter((name) => (kind === kinds - 1 ? name !== left : random() < 0.5))]);
  });

async function started(): Promise<TestService> {
  const guarded = createGuardedFetch({ allowPrivateNetwork: true });
  const fetch: GuardedFetch = {
    ...guarded,
    request: async (url, options) => (String(url) === walkedDocument ? walkedClient : guarded.request(url, options)),
  };
  return startManagedService({}, { overrides: { fetch } });
}

/** Starts a service and fills it. `REACH_SEED` repeats a walk. */
export async function startWalk(): Promise<Walk> {
  const seed = Number(process.env['REACH_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const random = randomFrom(seed);
  const service = await started();
  const api = await manage(service.url);
  const world = await makeWorld(api, await service.context());
  const observer = new pg.Client({ connectionString: service.databaseUrl });
  await observer.connect();
  const restore = await saveState(observer);
  const before: Model = await modelOf(observer);
  const callers = new Map<string, Api>();
  const audited: AuditLogRow[] = [];
  const draws = drawn(random);
  const held = (step: Step) => new Set([...step.needs, ...(draws[Math.floor(random() * kinds)] ?? [])]);

  async function callerOf(permissions: ReadonlySet<string>): Promise<Api> {
    const scope = [...permissions].sort().join(' ');
    const client = permissions.has(refund) ? world.walker : managementClient;
    const asked = scope.split(' ').filter((name) => name !== refund).join(' '); // prettier-ignore
    const known = callers.get(scope) ?? new Api(service.url, await managementToken(service.url, client, { scope: asked }));
    callers.set(scope, known);
    return known;
  }

  async function send(caller: Api, step: Step): Promise<ApiAnswer> {
    const preparation = preparations[step.pair];
    if (preparation !== undefined) await service.deps.db.knex.raw(preparation);
    const answer = await caller.request(step.method, step.path, step.body === undefined ? {} : { body: step.body });
    if (preparation !== undefined && answer.status >= 300) await restore();
    if (answer.status < 300) {
      const request_id = answer.headers.get('x-request-id');
      audited.push(...((await service.deps.db.knex('audit_logs').where({ request_id })) as AuditLogRow[]));
    }
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

  async function walk(steps: readonly Step[]): Promise<Walked> {
    const found: string[] = [];
    const [everything, done, refused] = [new Set(managementPermissions), new Set<string>(), new Set<string>()];
    for (const step of steps) {
      const permissions = held(step);
      const answer = await send(await callerOf(permissions), step);
      if (answer.status >= 500) found.push(`${step.pair}: ${answer.status}`);
      if (answer.body['errors']?.some((one: { code: string }) => one.code === 'scope_escalation')) refused.add(step.pair);
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
    const among = (word: string) => [...done].filter((pair) => pair.startsWith(`${word} `)).length;
    const kindsOfPairs = `${among('create')} of creations, ${among('update')} of updates, ${among('delete')} deletions`;
    console.log(
      `reach: ${done.size} pairs (${kindsOfPairs}) in ${steps.length} requests, ${refused.size} of them refused to somebody, seed ${seed}`,
    );
    return { seed, found: found.slice(0, 20), left };
  }

  async function stop(): Promise<void> {
    await observer.end();
    await service.stop();
  }

  return { service, world, random, api, audited, walk, stop };
}
