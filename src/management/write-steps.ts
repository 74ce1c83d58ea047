import { transaction, type Context } from '../domain/context.js';
import { reachElsewhere } from '../domain/reach/reach-of.js';
import { changesBetween, recordDenial, recordWrite } from './audit.js';
import { organizationOfRecord, requireWithin } from './within-organization.js';
import { requirePermissions, requireStrongSignIn, targetIdOf } from './authorize.js';
import type { Call } from './call.js';
import { AlreadyDone, claimKey, storedReply, storeReply } from './idempotency.js';
import { notFound, refuse, translated } from './problems.js';
import { findRecord } from './records.js';
import { noContent, type Reply } from './reply.js';
import { idOf, permissionFor, versionOf, type ResourceRow } from './resource.js';
import { answeredBy, writeKinds, type CheckedInput } from './write-kinds.js';
import { reach, reachAfterwards, shown } from './write-reach.js';
import type { State, Write, WriteResult } from './write-state.js';

type Step = (state: State) => Promise<Partial<State>> | Partial<State>;

/**
 * Every write of the Management API, the dashboard and configuration documents, in this order. What is `before` the transaction may take long or ask
 * others; what is `within` is committed together, or not at all. The order in which a request is refused is that of specification 6.6.1.
 */
const writeSteps: readonly (readonly [name: string, where: 'before' | 'within', step: Step])[] = [
  ['authorize', 'before', authorize],
  ['receive', 'before', receive],
  ['prepare', 'before', prepare],
  ['claim', 'within', claim],
  ['read', 'within', read],
  ['validate', 'within', validate],
  ['reach', 'within', reach],
  ['apply', 'within', apply],
  ['reach afterwards', 'within', reachAfterwards],
  ['audit', 'within', audit],
  ['follow', 'within', follow],
  ['answer', 'within', answer],
];

async function take(state: State, where: 'before' | 'within'): Promise<State> {
  let taken = state;
  for (const [, phase, step] of writeSteps) if (phase === where) taken = { ...taken, ...(await step(taken)) };
  return taken;
}

const begun = (call: Call, write: Write): State => ({
  call,
  write,
  needed: undefined,
  row: null,
  checked: null,
  prepared: write.prepared,
  before: {},
  weighed: [],
  outcome: null,
  after: {},
  reply: noContent,
});

/** The document that pointers of refusals lead into. */
const pointedAt = ({ kind, document }: Write) => (kind === 'create' || kind === 'update' ? document : undefined);

const entryOf = (write: Write) => ({
  action: writeKinds[write.kind].action(write),
  resource: write.resource,
  target_id: write.id === null ? null : targetIdOf(write.resource, write.id),
});

/**
 * Does a write. A refusal for want of permission is noted in the audit log.
 * @throws {ApiError} 400, 401, 403, 404, 409, 412, 422
 * @throws {AlreadyDone} with the reply of the first time, for one that is repeatable
 */
export const perform = async (given: Call, request: Write): Promise<WriteResult & { readonly reply: Reply }> =>
  recordDenial(given, entryOf(request), async () => {
    const ready = await take(begun(given, request), 'before');
    const done = await translated(pointedAt(ready.write), () =>
      transaction(ready.call.ctx, (tx) => take({ ...ready, call: { ...ready.call, ctx: tx } }, 'within')),
    );
    return { ...(done.outcome as WriteResult), reply: done.reply };
  });

/** Only looks whether a write could be done, as far as that shows before it is. @throws {ApiError} 403, 404, 409, 422 */
export async function checkWrite(call: Call, write: Write): Promise<void> {
  requirePermissions(call, permissionFor(write.resource, 'write'));
  await translated(pointedAt(write), async () => check(begun(call, write), await requireRecord(call.ctx, write)));
}

/** The record of an operation, which must be as the caller saw it; null for a new one. @throws {ApiError} 404, 412 */
async function requireRecord(
  ctx: Context,
  { resource, id, expected }: Write,
  seen?: ResourceRow,
  lock = false,
): Promise<ResourceRow | null> {
  if (id === null) return null;
  const row = seen ?? (await findRecord(ctx, resource, id, lock));
  if (!row) throw notFound();
  const version = versionOf(row);
  if (!expected || expected.includes(version)) return row;
  throw refuse(412, 'version_mismatch', 'The resource has changed since; read it again.', { header: 'If-Match' }, { version });
}

/** The class of sign-in that the environment demands of people who write, and the permissions that the address alone takes. */
function authorize({ call, write }: State): Partial<State> {
  requireStrongSignIn(call);
  requireWithin(call, write.resource, write.kind);
  requirePermissions(call, permissionFor(write.resource, 'write'), ...writeKinds[write.kind].needs(write));
  return {};
}

async function receive({ call, write }: State): Promise<Partial<State>> {
  const all = { ...write, ...(await write.receive?.(call)) };
  const { repeatable, resource, kind } = all;
  if (!repeatable) return { write: all, prepared: all.prepared };
  const needed = new Set([permissionFor(resource, 'write'), ...writeKinds[kind].needs(all)]);
  return { write: all, needed, call: { ...call, idempotency_key_digest: repeatable.digest } };
}

/** The attributes that a document names, whatever its structure. */
const attributesIn = (document: ResourceRow = {}): ResourceRow =>
  ((document['data'] as ResourceRow | null | undefined)?.['attributes'] as ResourceRow | undefined) ?? {};

const check = ({ call, write }: State, row: ResourceRow | null): Promise<CheckedInput> =>
  writeKinds[write.kind].check(call, write, write.document ?? {}, row);

/** Makes what must not be made inside a transaction (hashes, keys, requests to others), for the record as it is now. Most writes have nothing of the kind. */
async function prepare(state: State): Promise<Partial<State>> {
  const { call, write, prepared } = state;
  const kind = writeKinds[write.kind];
  if (prepared !== undefined || !kind.preparesFor(write, attributesIn(write.document))) return {};
  const earlier = write.repeatable ? await storedReply(call, write.repeatable) : null;
  if (earlier) throw new AlreadyDone(earlier);
  const row = await requireRecord(call.ctx, write, write.seen);
  return translated(pointedAt(write), async () => {
    const checked = await check(state, row);
    return { row, checked, prepared: await kind.prepare(call, write, row, checked) };
  });
}

/** Holds the Idempotency-Key, and finds out what the actor holds before anything is changed: nobody holds what this write gives. */
async function claim({ call, write }: State): Promise<Partial<State>> {
  const { ip_address, user_agent, request_id, actor } = call;
  const elsewhere = actor.elsewhere ?? (await reachElsewhere(call.ctx, actor));
  const inner = { ...call, actor: { ...actor, elsewhere, origin: { ip_address, user_agent, request_id } } };
  if (write.repeatable) await claimKey(inner, write.repeatable);
  return { call: inner };
}

/** What was checked of an earlier version of the record is checked again: it may go with what the record was alone. */
async function read({ call, write, row: seen, checked }: State): Promise<Partial<State>> {
  const row = await requireRecord(call.ctx, write, undefined, true);
  return { row, checked: seen && row && versionOf(seen) !== versionOf(row) ? null : checked };
}

async function validate(state: State): Promise<Partial<State>> {
  const checked = state.checked ?? (await check(state, state.row));
  for (const one of checked.needs) state.needed?.add(one);
  return { checked };
}

async function apply(state: State): Promise<Partial<State>> {
  const { call, write, row, checked, prepared, before } = state;
  const written = await writeKinds[write.kind].run(call, write, row, checked as CheckedInput, prepared);
  const outcome = { ...written, resource: answeredBy(call, write) };
  if (write.kind === 'delete') return { outcome };
  return { outcome, after: outcome.resource === write.resource ? await shown(state, outcome.row) : before };
}

async function audit({ call, write, row, outcome, checked, before, after }: State): Promise<Partial<State>> {
  const { resource, kind } = write;
  const written = outcome as WriteResult;
  const sent = kind === 'act' ? written.once : kind === 'delete' ? {} : (checked as CheckedInput).attributes;
  const changes = { ...changesBetween(before, after, Object.keys(sent ?? {})), ...changesBetween({}, written.noted ?? {}) };
  const of = row ?? written.row;
  const target = { target_id: idOf(resource, of), target_display: resource.display?.(of) ?? null };
  await recordWrite(call, { ...entryOf(write), ...target, organization_id: organizationOfRecord(resource, of), changes });
  return {};
}

async function follow({ call, write, outcome }: State): Promise<Partial<State>> {
  if (write.followedBy === undefined) return {};
  const id = idOf(write.resource, (outcome as WriteResult).row);
  await perform(call, { kind: 'act', resource: write.resource, id, name: write.followedBy });
  return {};
}

/** The outcome as a repetition of the request tells it: without what is shown once, and saying so. */
function repeatedResult(outcome: WriteResult): WriteResult {
  if (!outcome.once && !outcome.metaAgain) return outcome;
  const { once: _once, metaAgain: _metaAgain, ...rest } = outcome;
  return { ...rest, meta: { ...(outcome.metaAgain ?? outcome.meta), secret_shown_before: true } };
}

/** The answer, and the one that repetitions get. */
async function answer({ call, write, outcome, needed }: State): Promise<Partial<State>> {
  const result = outcome as WriteResult;
  const reply = (await write.answer?.(call, result)) ?? noContent;
  if (!write.repeatable) return { reply };
  const again = repeatedResult(result);
  const repeated = again === result ? reply : ((await write.answer?.(call, again)) ?? noContent);
  await storeReply(call, write.repeatable, repeated, needed ?? []);
  return { reply };
}
