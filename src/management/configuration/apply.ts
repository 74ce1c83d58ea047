import { isDeepStrictEqual } from 'node:util';
import { lockConfiguration, saveConfiguration } from '../../db/tables/configurations.js';
import type { EnvironmentRow } from '../../db/tables/environments.js';
import { transaction } from '../../domain/context.js';
import { reachElsewhere } from '../../domain/reach/reach-of.js';
import { completeEnvironment } from '../../domain/environments/environments.js';
import { ApiError } from '../../errors.js';
import { turns } from '../../lib/turns.js';
import { recordWrite } from '../audit.js';
import { requirePermissions } from '../authorize.js';
import type { Call } from '../call.js';
import { insufficientAuthentication, insufficientScope, pointerTo, problem } from '../problems.js';
import type { ResourceRow } from '../resource.js';
import { credentialPermissions } from './described-credentials.js';
import { kindNames, documentKinds, permissionsToReadKinds } from './kinds.js';
import { describesCredentials, kindsIn, namesOrganizations } from './listed.js';
import { weighKeeping, type WeighedDocument } from './kept-document.js';
import { readLive, recordsNamed, recordsOf, type Live, type LiveRecord } from './live.js';
import { prune } from './prune.js';
import type { Item } from './items.js';
import { documentPath, mostProblems, readDocument, type ReadDocument } from './read-document.js';
import { note, stateChanged, type RecordChange, type MadeSecret, type Run, type Warning } from './run.js';
import { isState } from './state.js';
import { writeItem } from './write-item.js';

export type Application = {
  readonly document: ResourceRow;
  readonly secrets: Readonly<Record<string, string>>;
  /** Whether what the document's collections don't have is deleted. */
  readonly prune: boolean;
  /** The state that whoever applies has seen; null takes any. */
  readonly expected_state: string | null;
};

/** What applying did, or would do. */
export type Applied = {
  readonly changes: readonly RecordChange[];
  readonly warnings: readonly Warning[];
  readonly secrets: readonly MadeSecret[];
  readonly state: string;
};

/** @throws {ApiError} 422 when a document by itself has as many problems as are told */
function refuseHopeless({ problems }: ReadDocument): void {
  if (problems.length >= mostProblems) throw new ApiError(problems.slice(0, mostProblems), undefined, 422);
}

/** @throws {ApiError} 422 with all problems; 401 or 403 with the challenge of RFC 6750 3.1 or RFC 9470 3 when one is a missing permission or sign-in */
function refuseProblems({ call, problems }: Run): void {
  if (problems.length === 0) return;
  const shown = problems.slice(0, mostProblems);
  const has = (code: string) => shown.filter((one) => one.code === code);
  const { environment } = call.ctx;
  if (has('insufficient_user_authentication').length > 0) throw new ApiError(shown, insufficientAuthentication(environment).headers, 401);
  const required = [...has('insufficient_scope'), ...has('scope_escalation')].flatMap(({ meta }) => (meta?.['required'] ?? []) as string[]);
  if (required.length > 0) throw new ApiError(shown, insufficientScope([...new Set(required)]).headers, 403);
  throw new ApiError(shown, undefined, 422);
}

/** The record that an item describes; null when there is none yet, undefined when it can't be told or is nobody's to describe, which is noted. */
function findRecord(run: Run, { kind, key, path }: Item): LiveRecord | null | undefined {
  const [found, another] = kind.type === 'environment' ? recordsOf(run.live, 'environment') : recordsNamed(run.live, kind.type, key);
  const pointer = kind.key === null ? path : [...path, kind.key];
  if (another) note(run, pointer, 'ambiguous_name', `There are several of the kind ${kind.type} that are called "${key.slice(0, 200)}".`);
  else if (found?.foreign)
    note(run, pointer, 'system_record', `"${key.slice(0, 200)}" comes with the service; a document can not change it.`, 409);
  else return found ?? null;
  return undefined;
}

type Algorithms = EnvironmentRow['signing_algorithms'];

/**
 * The environment in two steps: what signing algorithms are added clients may choose at once; those that go, go when nobody has them any more.
 * @param prepared keys of the added algorithms, generated before the transaction
 */
async function writeEnvironment(run: Run, item: Item, prepared: unknown): Promise<() => Promise<void>> {
  const found = findRecord(run, item);
  if (!found) return async () => undefined;
  const [before, listed] = [
    found.attributes['signing_algorithms'] as Algorithms,
    item.attributes['signing_algorithms'] as Algorithms | undefined,
  ];
  const going = listed ? before.filter((one) => !listed.includes(one)) : [];
  const write = async (one: Item, keys?: unknown) => {
    const [now] = recordsOf(run.live, 'environment');
    await writeItem(run, one, now as LiveRecord, keys);
    const [after] = recordsOf(run.live, 'environment');
    const { ctx } = run.call;
    const environment = await completeEnvironment({ ...ctx, db: { ...ctx.db, knex: ctx.scope.knex } }, after?.row as EnvironmentRow);
    run.call = { ...run.call, ctx: { ...ctx, environment } };
  };
  if (going.length === 0) return write(item, prepared).then(() => async () => undefined);
  await write({ ...item, attributes: { ...item.attributes, signing_algorithms: [...(listed ?? []), ...going] } }, prepared);
  return async () => {
    run.managed.shift();
    await write(item);
  };
}

/** One entry for the environment, though it was written in two steps. */
function merged(changes: readonly RecordChange[]): RecordChange[] {
  const own = changes.filter(({ kind }) => kind === 'environment');
  const [first] = own;
  if (!first) return [...changes];
  const names = new Set(own.flatMap(({ attributes }) => Object.keys(attributes)));
  const attributes = Object.fromEntries(
    [...names].flatMap((name) => {
      const pairs = own.flatMap((one) => (one.attributes[name] ? [one.attributes[name]] : []));
      const [old, now] = [pairs[0]?.[0], pairs.at(-1)?.[1]];
      return isDeepStrictEqual(old, now) ? [] : [[name, [old, now] as const]];
    }),
  );
  const whole = Object.keys(attributes).length > 0 ? [{ ...first, attributes }] : [];
  return [...whole, ...changes.filter(({ kind }) => kind !== 'environment')];
}

/** What has to be left of a request's time to take a transaction back and say why, in milliseconds. */
const leftForAnswer = 1_000;

/** For a document that can not be written while somebody waits, be it for others or for its own length: only the latter ends in the same way again. */
const timeIsUp = (seen: number, all: number) =>
  new ApiError(
    problem(
      503,
      'temporarily_unavailable',
      `The time of the request was up after ${seen} of the document’s ${all} records, and nothing was changed. Try again shortly; a document that changes thousands of records is to be applied in several, without prune.`,
      pointerTo(...documentPath),
    ),
    { 'Retry-After': '5' },
  );

/** Makes the environment what the document says, inside a transaction; all that is refused is noted. */
async function writeDocument(run: Run, read: ReadDocument, application: Application, prepared: unknown): Promise<void> {
  const [environment] = read.items.filter(({ kind }) => kind.type === 'environment');
  const finish = environment ? await writeEnvironment(run, environment, prepared) : null;
  const turn = turns();
  let seen = 0;
  for (const type of kindNames.filter((one) => one !== 'environment')) {
    for (const item of read.items.filter(({ kind }) => kind.type === type)) {
      await turn();
      if (run.call.ctx.scope.deadline.left() < leftForAnswer) throw timeIsUp(seen, read.items.length);
      seen += 1;
      const found = findRecord(run, item);
      if (found !== undefined) await writeItem(run, item, found);
    }
  }
  if (application.prune) await prune(run, read.listed);
  await finish?.();
}

const countOf = (changes: readonly RecordChange[], action: RecordChange['action']) => changes.filter((one) => one.action === action).length;

export const changeSummaryOf = (changes: readonly RecordChange[]) => ({
  create: countOf(changes, 'create'),
  update: countOf(changes, 'update'),
  delete: countOf(changes, 'delete'),
});

/** Keeps the document, and says in the audit log that it was applied. One that changes neither a record nor what is kept leaves no trace. */
async function keep(
  run: Run,
  application: Application,
  changes: readonly RecordChange[],
  { before, mayKeep }: WeighedDocument,
): Promise<void> {
  const { call } = run;
  const { document, prune: pruned } = application;
  const same = before && before.pruned === pruned && isDeepStrictEqual(before.document, document);
  if ((same || !mayKeep) && changes.length === 0) return;
  const { actor_kind, actor_id, display } = call.actor;
  const { request_id } = call;
  const applied_at = call.ctx.clock.now();
  const by = { actor_kind, actor_id, actor_display: display, request_id };
  if (mayKeep) await saveConfiguration(call.ctx.scope, { document, pruned, records: run.managed, applied_at, ...by });
  const counts = Object.entries(changeSummaryOf(changes)).map(([name, count]): [string, [unknown, unknown]] => [name, [null, count]]);
  const target = { resource: { type: 'config' }, target_id: call.ctx.environment.id, target_display: call.ctx.environment.slug };
  await recordWrite(call, { action: 'applied', ...target, changes: { ...Object.fromEntries(counts), pruned: [null, pruned] } });
}

/** What the environment's own change has to make outside of the transaction: keys for signing algorithms that are added. Whoever may not change it is refused there. */
async function prepareEnvironment(call: Call, read: ReadDocument): Promise<unknown> {
  const [item] = read.items.filter(({ kind }) => kind.type === 'environment');
  if (!item?.attributes['signing_algorithms'] || !call.actor.permissions.has('environments:write')) return undefined;
  return documentKinds.environment.resource.update?.prepare?.(
    call.ctx,
    call.actor,
    call.ctx.environment as unknown as ResourceRow,
    item.attributes,
    {},
  );
}

/** Thrown at the end of a plan, whose transaction is not to be committed. */
class Planned extends Error {
  constructor(readonly outcome: Applied) {
    super('planned');
  }
}

const runOf = (call: Call, live: Live, read: ReadDocument, application: Application): Run => ({
  call,
  live,
  expects: application.expected_state !== null,
  secrets: new Map(Object.entries(application.secrets)),
  declared: read.declared,
  changes: [],
  problems: [...read.problems],
  warnings: [],
  made: [],
  managed: [],
});

/**
 * Applies a document to the environment in one transaction, by the operations of the Management API: their permissions, their reach, their events and
 * entries in the audit log. `plan` does the same and takes it back, so that it refuses what applying would refuse.
 * @throws {ApiError} 401, 403, 409 `state_changed`, 422 with all problems
 */
export async function applyDocument(call: Call, application: Application, how: 'plan' | 'apply'): Promise<Applied> {
  const { document } = application;
  requirePermissions(call, ...permissionsToReadKinds(kindsIn(document)), ...(describesCredentials(document) ? credentialPermissions : []));
  const read = await readDocument(document, call.ctx.environment.slug);
  refuseHopeless(read);
  const prepared = await prepareEnvironment(call, read);
  try {
    return await transaction(call.ctx, async (ctx) => {
      const { ip_address, user_agent, request_id } = call;
      await lockConfiguration(ctx.scope);
      const elsewhere = await reachElsewhere(ctx, call.actor);
      const inner = { ...call, ctx, actor: { ...call.actor, elsewhere, origin: { ip_address, user_agent, request_id } } };
      const live = await readLive(inner, namesOrganizations(document));
      const { expected_state } = application;
      if (expected_state !== null && !isState(expected_state, live.state)) throw stateChanged({ state: live.state });
      const run = runOf(inner, live, read, application);
      await writeDocument(run, read, application, prepared);
      refuseProblems(run);
      const weighed = await weighKeeping(run, document);
      const changes = merged(run.changes);
      const { warnings, made: secrets } = run;
      if (how === 'plan') throw new Planned({ changes, warnings, secrets, state: live.state });
      await keep(run, application, changes, weighed);
      const { state } = changes.length === 0 ? live : await readLive(run.call, namesOrganizations(document));
      return { changes, warnings, secrets, state };
    });
  } catch (error) {
    if (error instanceof Planned) return error.outcome;
    throw error;
  }
}
