import { ApiError, type ApiErrorObject } from '../../errors.js';
import { Refusal } from '../../domain/refusal.js';
import { savepoint } from '../../domain/context.js';
import type { ManagedRecord } from '../../db/tables/configurations.js';
import type { Call } from '../call.js';
import { pointerTo, problem, refuse, translated } from '../problems.js';
import type { ApiErrorCode } from '../../lib/error-codes.js';
import type { KindName } from './kinds.js';
import type { Live, LiveRecord } from './live.js';
import type { Item } from './items.js';
import { documentPath } from './read-document.js';

export type RecordChange = {
  readonly action: 'create' | 'update' | 'delete';
  readonly kind: KindName;
  readonly key: string;
  /** Old and new value of each attribute that changes; secrets are `[secret]`. */
  readonly attributes: Readonly<Record<string, readonly [unknown, unknown]>>;
};

/** A remark about something valid that may be unexpected. */
export type Warning = { readonly code: string; readonly detail: string; readonly pointer: string };

/** A secret that nobody gave and the service made. */
export type MadeSecret = { readonly kind: KindName; readonly key: string; readonly attribute: string; readonly value: string };

/** A document on its way into an environment, inside a transaction. */
export type Run = {
  /** Of the transaction; its environment is as the document has made it so far. */
  call: Call;
  readonly live: Live;
  /** Whether the environment has to be as whoever applies has seen it. */
  readonly expects: boolean;
  /** What the references of the document stand for, as far as the caller knew: `env:NAME`, `file:PATH`. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Names of all records of the document, also of those that were refused. */
  readonly declared: ReadonlySet<string>;
  readonly changes: RecordChange[];
  readonly problems: ApiErrorObject[];
  readonly warnings: Warning[];
  readonly made: MadeSecret[];
  readonly managed: ManagedRecord[];
};

/** What stands for a secret in whatever is shown. */
export const secretMark = '[secret]';

type Path = readonly (string | number)[];

export const documentPointer = (path: Path): { pointer: string } => pointerTo(...documentPath, ...path);

/** Notes what speaks against an item. */
export function note(run: Run, path: Path, code: ApiErrorCode, detail: string, status: 403 | 409 | 422 = 422): void {
  run.problems.push(problem(status, code, detail, documentPointer(path)));
}

/** For an environment that isn't as it was seen. */
export const stateChanged = (meta?: Record<string, unknown>): ApiError =>
  refuse(409, 'state_changed', 'The environment has changed since the state that was expected.', { pointer: '/meta/expected_state' }, meta);

const unescaped = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');

/** Where in an item's description a pointer into the operation's own document leads: `/data/attributes/redirect_uris/1` to `redirect_uris/1`. */
function itemPath(item: Item, pointer: string): string[] {
  // A domain stands there as a text.
  if (item.kind.type === 'organization_domain') return [];
  const [, , member, name, ...rest] = pointer.split('/').map(unescaped);
  if (member === 'attributes' && name !== undefined) return [name, ...rest];
  const links = { permissions: item.permissions, connections: item.connections, default_roles: item.default_roles } as const;
  return member === 'relationships' && name !== undefined && links[name as 'permissions'] !== undefined ? [name] : [];
}

/** Refusals that are the same for all records of a kind, and are told once. */
const byPermission: ReadonlySet<string> = new Set(['insufficient_scope', 'insufficient_user_authentication']);

function noteErrors(run: Run, errors: readonly ApiErrorObject[], placed: (pointer: string) => { pointer: string }): void {
  for (const error of errors) {
    if (byPermission.has(error.code) && run.problems.some((known) => known.code === error.code && known.detail === error.detail)) continue;
    const pointer = error.source && 'pointer' in error.source ? error.source.pointer : '';
    run.problems.push({ ...error, source: placed(pointer) });
  }
}

/** Thrown inside a savepoint to take back what was done without its being wrong. */
class TakenBack extends Error {}

/**
 * Does something that can be taken back by itself: what is refused is noted and undone, and the others go on.
 * @param work answers undefined for: there was nothing to do, undo it
 */
async function attempted<T>(
  run: Run,
  placed: (pointer: string) => { pointer: string },
  work: (call: Call) => Promise<T | undefined>,
): Promise<T | null> {
  try {
    return await savepoint(run.call.ctx, async (ctx) => {
      const done = await translated(undefined, () => work({ ...run.call, ctx }));
      if (done === undefined) throw new TakenBack();
      return done;
    });
  } catch (error) {
    if (error instanceof TakenBack) return null;
    if (!(error instanceof ApiError || error instanceof Refusal)) throw error;
    if (error instanceof ApiError) noteErrors(run, error.errors, placed);
    return null;
  }
}

/** Does something for an item of the document; null: it was refused, which is noted at its place, or there was nothing to do. */
export const attemptItem = <T>(run: Run, item: Item, work: (call: Call) => Promise<T | undefined>): Promise<T | null> =>
  attempted(run, (pointer) => documentPointer([...item.path, ...itemPath(item, pointer)]), work);

/** The same for something that the document doesn't have; its place is that of its collection. */
export const attemptAt = <T>(run: Run, path: Path, work: (call: Call) => Promise<T | undefined>): Promise<T | null> =>
  attempted(run, () => documentPointer(path), work);

/** Does something and takes it back, to see what comes of it. @throws {ApiError} */
export async function tried<T>(run: Run, work: (call: Call) => Promise<T>): Promise<T> {
  let result: { readonly value: T } | null = null;
  try {
    await savepoint(run.call.ctx, async (ctx) => {
      result = { value: await work({ ...run.call, ctx }) };
      throw new TakenBack();
    });
  } catch (error) {
    if (!(error instanceof TakenBack)) throw error;
  }
  return (result as unknown as { readonly value: T }).value;
}

/** Puts a record in the place of what was known of it. */
export function remember(live: Live, record: LiveRecord): void {
  const byKey = live.records.get(record.kind.type);
  const others = (byKey?.get(record.key) ?? []).filter(({ id }) => id !== record.id);
  byKey?.set(record.key, [...others, record]);
  if (record.kind.type === 'api_resource' && !record.foreign) live.identifiers.set(record.id, record.key);
  if (record.kind.type === 'organization') live.organizations.set(record.id, record.key);
  if (record.kind.type === 'connection') live.connections.set(record.id, record.key);
  if (record.kind.type === 'external_server') live.servers.set(record.id, record.key);
}

export function forget(live: Live, { kind, key, id }: LiveRecord): void {
  const byKey = live.records.get(kind.type);
  const others = (byKey?.get(key) ?? []).filter((one) => one.id !== id);
  if (others.length > 0) byKey?.set(key, others);
  else byKey?.delete(key);
}
