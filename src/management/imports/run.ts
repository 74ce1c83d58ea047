import { renewHashMix } from '../../db/tables/environments.js';
import {
  importLeaseMs,
  insertImportErrors,
  removeImportData,
  updateLeasedImport,
  type ImportCounts,
  type UserImportRow,
} from '../../db/tables/user_imports.js';
import { findUser } from '../../db/tables/users.js';
import type { Actor } from '../../domain/actor.js';
import { enabledClient } from '../../domain/clients/clients.js';
import { createContext, savepoint, transaction, type Context, type Deps } from '../../domain/context.js';
import { findEnvironmentById } from '../../domain/environments/environments.js';
import { noOrigin } from '../../domain/origin.js';
import { reachElsewhere } from '../../domain/reach/reach-of.js';
import { uuidv7 } from '../../lib/random.js';
import { turns } from '../../lib/turns.js';
import type { PassEnd } from '../../platform/loop.js';
import { permissionsOfClient, permissionsOfUser } from '../authenticate.js';
import type { Call } from '../call.js';
import { registry } from '../resources/index.js';
import { writeBatch, type RowErrors } from './batch.js';
import { fetchSource, SourceFailure } from './source.js';
import { linesOf, UnreadableFile, type Line } from './lines.js';
import { keepRowKeys } from './row-keys.js';
import { readRow, type ImportRow } from './rows.js';

/** Lines that are written in one transaction. */
const batchSize = 500;
const [errorsOfRow, errorsKept] = [5, 100_000];

/** The lease was lost, or the import was cancelled: somebody else decides about it now. */
class LeaseLost extends Error {}

/** What a dry run throws at the end of a batch. */
class Tried extends Error {
  constructor(readonly result: Awaited<ReturnType<typeof writeBatch>>) {
    super('tried');
  }
}

/** What the maker holds by now: somebody who is blocked, or a client that is disabled, nothing. */
async function heldBy(ctx: Context, { actor_kind, actor_id }: UserImportRow): Promise<readonly string[]> {
  if (actor_id === null) return [];
  if (actor_kind === 'user') return (await findUser(ctx.scope, actor_id))?.status === 'active' ? permissionsOfUser(ctx, actor_id) : [];
  return (await enabledClient(ctx, actor_id)) ? permissionsOfClient(ctx, actor_id) : [];
}

/** Who the import acts as, with what they may do now of what they might when they made it; null: not even import users any more. */
async function actorOf(ctx: Context, row: UserImportRow): Promise<Actor | null> {
  const { actor_kind, actor_id, actor_display: display, acts_in_full } = row;
  const held = new Set(await heldBy(ctx, row));
  const permissions = new Set(row.actor_permissions.filter((name) => held.has(name)));
  if (!permissions.has('users:write') || !permissions.has('user_imports:write')) return null;
  // The class of sign-in that the environment demands of whoever writes was asked for when the import was made.
  const signed_in = { acr: 'phr', at: ctx.clock.now() } as const;
  return { actor_kind, actor_id, display, permissions, acts_in_full, origin: noOrigin, ...(actor_kind === 'user' && { signed_in }) };
}

const callOf = (ctx: Context, actor: Actor, { id }: UserImportRow): Call => ({
  ctx,
  actor,
  registry,
  request_id: id,
  ip_address: null,
  user_agent: null,
});

type Run = { readonly ctx: Context; job: UserImportRow; readonly lease_id: string };

const leasedUntil = ({ clock }: Context) => new Date(clock.now().getTime() + importLeaseMs);

/** Changes the import while it is this process's. @throws {LeaseLost} */
async function note({ lease_id, job }: Run, tx: Context, changes: Partial<UserImportRow>): Promise<UserImportRow> {
  const now = tx.clock.now();
  const row = await updateLeasedImport(tx.scope, job.id, lease_id, { ...changes, leased_until: leasedUntil(tx), updated_at: now });
  if (!row) throw new LeaseLost();
  return row;
}

async function keepErrors(tx: Context, job: UserImportRow, errors: readonly RowErrors[]): Promise<void> {
  const created_at = tx.clock.now();
  const capacity = Math.max(0, errorsKept - job.failed_count);
  const rows = errors
    .slice(0, capacity)
    .flatMap(({ line, problems }) =>
      problems
        .slice(0, errorsOfRow)
        .map((problem) => ({ ...problem, line, id: uuidv7(created_at.getTime()), import_id: job.id, created_at })),
    );
  await insertImportErrors(tx.scope, rows);
}

/** Writes the rows, or only tries to. */
async function written(call: Call, job: UserImportRow, rows: readonly ImportRow[]): Promise<Awaited<ReturnType<typeof writeBatch>>> {
  if (!job.dry_run) return writeBatch(call, job, rows);
  try {
    return await savepoint(call.ctx, async (ctx) => {
      throw new Tried(await writeBatch({ ...call, ctx }, job, rows));
    });
  } catch (error) {
    if (error instanceof Tried) return error.result;
    throw error;
  }
}

/** Works off some lines in one transaction, with how far that has come. @throws {LeaseLost} */
async function workOff(run: Run, lines: readonly Line[], read_bytes: number): Promise<void> {
  const { ctx, job } = run;
  const turn = turns();
  const read: { readonly line: number; readonly row: ReturnType<typeof readRow> }[] = [];
  for (const line of lines) {
    await turn();
    read.push({ line: line.line, row: readRow(ctx, job, line) });
  }
  run.job = await transaction(ctx, async (tx) => {
    const actor = await actorOf(tx, job);
    if (!actor) throw new UnreadableFile('whoever made the import may not import users any more');
    const elsewhere = await reachElsewhere(tx, actor);
    const rows = read.flatMap(({ row }) => (row !== null && 'line' in row ? [row] : []));
    const unreadable = read.flatMap(({ line, row }) => (row !== null && !('line' in row) ? [{ line, problems: row }] : []));
    const result = await written(callOf(tx, { ...actor, elsewhere }, job), job, rows);
    const errors = [...unreadable, ...result.errors];
    const refused = new Set(result.errors.map(({ line }) => line));
    await keepRowKeys(tx.scope, job, rows.filter(({ line }) => !refused.has(line))); // prettier-ignore
    await keepErrors(tx, job, errors);
    const sum = (name: keyof ImportCounts, more: number) => ({ [name]: job[name] + more });
    return note(run, tx, {
      read_bytes,
      line_count: job.line_count + lines.length,
      ...sum('row_count', rows.length + unreadable.length),
      ...sum('created_count', result.created_count),
      ...sum('updated_count', result.updated_count),
      ...sum('unchanged_count', result.unchanged_count),
      ...sum('failed_count', errors.length),
    });
  });
}

/** Ends the import; what was uploaded goes, and decoys follow what came (specification 18.1.4). @throws {LeaseLost} */
async function finish(run: Run, error: string | null): Promise<void> {
  const { ctx } = run;
  const { row_count, failed_count, dry_run } = run.job;
  const status = error !== null || (row_count > 0 && failed_count === row_count) ? 'failed' : failed_count > 0 ? 'partial' : 'succeeded';
  await transaction(ctx, async (tx) => {
    run.job = await note(run, tx, { status, error, finished_at: tx.clock.now() });
    await removeImportData(tx.scope, run.job.id);
  });
  if (!dry_run) await transaction(ctx, (tx) => renewHashMix(tx.scope, tx.clock.now()));
}

/** Works on an import until its end, or until this process stops: then the next one goes on where the last batch ended. */
async function work(run: Run, signal: AbortSignal | undefined): Promise<void> {
  const { ctx } = run;
  if (run.job.source_url !== null && run.job.total_bytes === null)
    run.job = await fetchSource(ctx, run.job, (tx, changes) => note(run, tx, changes));
  const begun = run.job.line_count;
  const { lines, readBytes } = linesOf(() => createContext(ctx, ctx.environment), run.job);
  let waiting: Line[] = [];
  for await (const line of lines) {
    if (signal?.aborted) {
      await transaction(ctx, async (tx) => void (await updateLeasedImport(tx.scope, run.job.id, run.lease_id, { leased_until: null })));
      return;
    }
    if (line.line <= begun) continue;
    waiting.push(line);
    if (waiting.length < batchSize) continue;
    await workOff(run, waiting, readBytes());
    waiting = [];
  }
  await workOff(run, waiting, readBytes());
  await finish(run, null);
}

export async function runUserImport(deps: Deps, job: UserImportRow, lease_id: string, signal?: AbortSignal): Promise<PassEnd> {
  const environment = await findEnvironmentById(deps, job.environment_id);
  if (!environment) return 'more';
  const run: Run = { ctx: { ...createContext(deps, environment), silent: !job.emit_events }, job, lease_id };
  try {
    await work(run, signal);
  } catch (error) {
    if (error instanceof LeaseLost) return 'more';
    if (!(error instanceof UnreadableFile || error instanceof SourceFailure)) throw error;
    await finish(run, error.message).catch((late: unknown) => {
      if (!(late instanceof LeaseLost)) throw late;
    });
  }
  return signal?.aborted ? 'done' : 'more';
}
