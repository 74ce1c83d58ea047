import { transaction, type Context } from '../domain/context.js';
import { authorizeWrite, requireForWrite, requirePermissions, targetIdOf, type AuthorizationOptions } from './authorize.js';
import { reachElsewhere } from '../domain/reach/reach-of.js';
import type { AuditEntry, Changes } from './audit-entry.js';
import { changesBetween, operationNames, recordDenial, recordWrite } from './audit.js';
import type { Call } from './call.js';
import { attributesOf } from './documents.js';
import { readCreation, readMeta, resolveRelationships, updateAttributes, type Input } from './input.js';
import { notFound, refuse, translated } from './problems.js';
import { findRecord } from './records.js';
import { writtenLinks } from './written-links.js';
import { touchedBetween, touchedByCreation, beginReachCheck } from './reach-check.js';
import { idOf, permissionFor, targetOf, versionOf, type RelatedRows, type Resource, type Row, type Written } from './resource.js';

/** A write that was done: the record of the answer and its resource. */
export type WriteResult = Written<Row> & { readonly resource: Resource };

export type WriteOptions = AuthorizationOptions & {
  /** The versions that the caller saw (`If-Match`); null accepts any. */
  readonly expected?: readonly number[] | null | undefined;
  /** What an update's `prepare` has made already, for whoever updates within a transaction. */
  readonly prepared?: unknown;
  /** First thing inside the transaction. */
  readonly begin?: ((call: Call) => Promise<void>) | undefined;
  /** Last thing inside the transaction. */
  readonly finish?: ((call: Call, outcome: WriteResult | null) => Promise<void>) | undefined;
};

/** What the relationships of a document need: the same as through their own URLs. */
const neededByLinks = (resource: Resource, input: Input): string[] =>
  Object.keys(input.relationships).flatMap((name) => {
    const relationship = Object.hasOwn(resource.relationships, name) ? resource.relationships[name] : undefined;
    return relationship?.kind === 'many' ? (relationship.change?.needs ?? []) : [];
  });

function checkVersion(row: Row, expected: WriteOptions['expected']): void {
  if (!expected || expected.includes(versionOf(row))) return;
  throw refuse(
    412,
    'version_mismatch',
    'The resource has changed since; read it again.',
    { header: 'If-Match' },
    { version: versionOf(row) },
  );
}

/** The record, which must be as the caller saw it. @throws {ApiError} 404, 412 */
export async function requireRecord(ctx: Context, resource: Resource, id: string, options: WriteOptions = {}, lock = false): Promise<Row> {
  const row = await findRecord(ctx, resource, id, lock);
  if (!row) throw notFound();
  checkVersion(row, options.expected);
  return row;
}

/** What the audit log calls the record. */
export const displayOf = (resource: Resource, row: Row) => resource.display?.(row) ?? null;

type Write = {
  readonly entry: Omit<AuditEntry, 'changes'>;
  readonly document?: Row;
  /** Inside the transaction. */
  readonly run: (
    inner: Call,
  ) => Promise<{ outcome: WriteResult | null; changes: Changes; target_id?: string; target_display?: string | null }>;
  readonly options: WriteOptions;
};

/** One transaction: the change, its events, its audit entry and what `finish` adds. */
export async function write(call: Call, { entry, document, run, options }: Write): Promise<WriteResult | null> {
  return translated(document, () =>
    transaction(call.ctx, async (tx) => {
      const { ip_address, user_agent, request_id } = call;
      // What the actor holds before anything is changed: nobody holds what this write gives.
      const elsewhere = call.actor.elsewhere ?? (await reachElsewhere(tx, call.actor));
      const inner = { ...call, ctx: tx, actor: { ...call.actor, elsewhere, origin: { ip_address, user_agent, request_id } } };
      await options.begin?.(inner);
      const { outcome, changes, ...target } = await run(inner);
      await recordWrite(inner, { ...entry, ...target, changes });
      await options.finish?.(inner, outcome);
      return outcome;
    }),
  );
}

/** Only looks whether the input can be used, as far as that shows before anything is written. @throws {ApiError} 403, 404, 409, 422 */
export async function checkInput(call: Call, resource: Resource, id: string | null, input: Input): Promise<void> {
  requirePermissions(call, permissionFor(resource, 'write'));
  await translated(input.document, async () => {
    if (id === null) return void (await readCreation(call, resource, input));
    const row = await requireRecord(call.ctx, resource, id);
    await resolveRelationships(call, resource, input, row);
    await updateAttributes(call, resource, row, input);
  });
}

/** Creates a record; `read` hands over what was sent, once the permissions are there. @throws {ApiError} 403, 404, 409, 422 */
export async function createRecord(asked: Call, resource: Resource, read: () => Input, options: WriteOptions = {}): Promise<WriteResult> {
  const { create } = resource;
  if (!create) throw new Error(`${resource.path} can not be created`);
  const entry = { action: operationNames.create(resource), resource, target_id: null };
  return recordDenial(asked, entry, async () => {
    const call = await authorizeWrite(asked, resource, options);
    const input = read();
    requireForWrite(call, resource, options, neededByLinks(resource, input));
    return translated(input.document, async () => {
      const { attributes, related } = await readCreation(call, resource, input);
      const prepared = await create.prepare?.(call.ctx, call.actor, attributes, related);
      const outcome = await write(call, {
        entry,
        document: input.document,
        options,
        async run(inner) {
          const { create: touch = 'reach' } = resource.reach;
          const reach = await beginReachCheck(inner, resource, null, options.needed);
          const touched = touch === 'everything' ? [{ touch, at: {} }] : touchedByCreation(resource, attributes, related);
          if (touch === 'everything') reach.begin(touched);
          const written = await create.run(inner.ctx, inner.actor, attributes, related, prepared);
          if (touch !== 'plain') await reach.end(written.row, touched);
          const after = { ...attributesOf(inner, resource, written.row), ...(await writtenLinks(inner, resource, related, written.row)) };
          const target = { target_id: idOf(resource, written.row), target_display: displayOf(resource, written.row) };
          return { outcome: { ...written, resource }, changes: changesBetween({}, after, Object.keys(attributes)), ...target };
        },
      });
      return outcome as WriteResult;
    });
  });
}

/** Ids that a document names, by relationship, as `writtenLinks` tells those that are there. */
const linksOf = (call: Call, resource: Resource, related: RelatedRows): Row =>
  Object.fromEntries(
    Object.entries(related).flatMap(([name, rows]) => {
      const relationship = resource.relationships[name];
      if (relationship?.kind !== 'many' || !Array.isArray(rows)) return [];
      return [[name, (rows as readonly Row[]).map((row) => idOf(targetOf(call.registry, relationship), row))]];
    }),
  );

/**
 * Changes a record: one read of it for what is told before anything is written, one that locks it for the transaction. `read` hands over what
 * was sent, once the record is known to be there. @throws {ApiError} 403, 404, 409, 412, 422
 */
export async function updateRecord(
  asked: Call,
  resource: Resource,
  id: string,
  read: () => Input,
  options: WriteOptions = {},
): Promise<WriteResult> {
  const { update } = resource;
  if (!update) throw new Error(`${resource.path} can not be updated`);
  const entry = { action: operationNames.update(), resource, target_id: targetIdOf(resource, id) };
  return recordDenial(asked, entry, async () => {
    const call = await authorizeWrite(asked, resource, options);
    const seen = await requireRecord(call.ctx, resource, id, options);
    const input = read();
    requireForWrite(call, resource, options, neededByLinks(resource, input));
    return translated(input.document, async () => {
      const related = await resolveRelationships(call, resource, input, seen);
      const attributes = await updateAttributes(call, resource, seen, input);
      const prepared = options.prepared ?? (await update.prepare?.(call.ctx, call.actor, seen, attributes, related));
      const outcome = await write(call, {
        entry: { ...entry, target_display: displayOf(resource, seen) },
        document: input.document,
        options,
        async run(inner) {
          const row = await requireRecord(inner.ctx, resource, id, options, true);
          const sent = Object.keys(attributes);
          const reach = await beginReachCheck(inner, resource, row, options.needed);
          const before = { ...attributesOf(inner, resource, row), ...(await writtenLinks(inner, resource, related, row)) };
          reach.begin(touchedBetween(resource, before, { ...before, ...attributes, ...linksOf(call, resource, related) }, []));
          const written = await update.run(inner.ctx, inner.actor, row, attributes, related, prepared);
          const after = { ...attributesOf(inner, resource, written.row), ...(await writtenLinks(inner, resource, related, written.row)) };
          await reach.end(written.row, touchedBetween(resource, before, after, sent));
          return { outcome: { ...written, resource }, changes: changesBetween(before, after, Object.keys(attributes)) };
        },
      });
      return outcome as WriteResult;
    });
  });
}

/** Deletes a record. @throws {ApiError} 403, 404, 409, 412 */
export async function deleteRecord(asked: Call, resource: Resource, id: string, options: WriteOptions = {}): Promise<void> {
  const { remove } = resource;
  if (!remove) throw new Error(`${resource.path} can not be deleted`);
  const entry = { action: operationNames.remove(resource), resource, target_id: targetIdOf(resource, id) };
  await recordDenial(asked, entry, async () => {
    const call = await authorizeWrite(asked, resource, options);
    await write(call, {
      entry,
      options,
      async run(inner) {
        const row = await requireRecord(inner.ctx, resource, id, options, true);
        const before = attributesOf(inner, resource, row);
        const { remove: touch = 'control' } = resource.reach;
        const reach = await beginReachCheck(inner, resource, row, options.needed, true);
        reach.begin([{ touch, at: {} }]);
        await remove.run(inner.ctx, inner.actor, row);
        return { outcome: null, changes: changesBetween(before, {}), target_display: displayOf(resource, row) };
      },
    });
  });
}

/** Runs an action on a record; `document` hands over what an action with input reads its `meta` from. @throws {ApiError} 400, 403, 404, 409, 412, 422 */
export async function actOnRecord(
  asked: Call,
  resource: Resource,
  id: string,
  verb: string,
  options: WriteOptions & { document?: () => Row } = {},
): Promise<WriteResult> {
  const action = resource.actions?.[verb];
  if (!action) throw new Error(`${resource.path} have no action ${verb}`);
  const entry = { action: operationNames.act(resource, verb), resource, target_id: targetIdOf(resource, id) };
  return recordDenial(asked, entry, async () => {
    const call = await authorizeWrite(asked, resource, options, action.needs);
    const seen = await requireRecord(call.ctx, resource, id, options);
    const answers = action.answers === undefined ? resource : (call.registry.byType.get(action.answers) ?? resource);
    return translated(undefined, async () => {
      const input = action.input ? readMeta(action.input, options.document?.() ?? {}) : {};
      const prepared = await action.prepare?.(call.ctx, call.actor, seen, input);
      const outcome = await write(call, {
        entry: { ...entry, target_display: displayOf(resource, seen) },
        options,
        async run(inner) {
          const row = await requireRecord(inner.ctx, resource, id, options, true);
          const before = attributesOf(inner, resource, row);
          const reach = await beginReachCheck(inner, resource, row, options.needed);
          const touched = [{ touch: action.touch, at: {} }];
          reach.begin(touched);
          const written = await action.run(inner.ctx, inner.actor, row, input, prepared);
          await reach.end(answers === resource ? written.row : row, touched);
          const after = answers === resource ? attributesOf(inner, resource, written.row) : before;
          const changes = {
            ...changesBetween(before, after, Object.keys(written.once ?? {})),
            ...changesBetween({}, written.noted ?? {}),
          };
          return { outcome: { ...written, resource: answers }, changes };
        },
      });
      return outcome as WriteResult;
    });
  });
}
