import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { readOnly } from '../../db/connection/read-only.js';
import { probes } from '../../lib/remedies.js';
import { fileVariable } from '../../lib/variable-files.js';
import type { CheckId } from './check-ids.js';
import { checks } from './checks/index.js';
import type { Check, Found, Level, CheckContext } from './check.js';
import { isOpenDatabase, type Installation } from './installation.js';
import { ofEach } from '../../lib/memo.js';

/** What a check says: a finding, why it matters, the command or variable that mends it, and the command that only looks closer (null where there is none). */
export type CheckResult = {
  readonly id: CheckId;
  readonly level: Level;
  readonly finding: string;
  readonly why: string | null;
  readonly fix: string | null;
  readonly look: string | null;
  /** A variable, or `<collection>/<id>`; null when it is about the whole. */
  readonly subject: string | null;
};

/** The state of an installation. `status`: the worst level, notices not counted. */
export type Diagnosis = { readonly status: 'ok' | 'warning' | 'problem'; readonly checks: readonly CheckResult[] };

/** Milliseconds for a check once what it needs is known, for those that others wait for, for the statements of one look, and for all of it: less than a request has. */
const limits = { check: 5000, first: 3500, statement: 3000, all: 9000 } as const;
/** What a check gets at least, however late its turn comes. */
const leastMs = 250;
/** How many looks at the database are under way at once: the rest of the pool is for those who work with it. */
const lanes = 2;
/** Findings of one check that are told one by one. */
const maxFindings = 50;

const gravity: readonly Level[] = ['problem', 'warning', 'notice', 'skipped', 'ok'];

/** The worst first; among equals the order of the list of checks. */
export const worstFirst = (results: readonly CheckResult[]): CheckResult[] =>
  [...results].sort((one, other) => gravity.indexOf(one.level) - gravity.indexOf(other.level));

/** Runs at most `count` tasks at once. */
function createLanes(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

class Late extends Error {}

async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = delay(ms, null, { signal: timer.signal }).then(() => {
    throw new Late();
  });
  late.catch(() => undefined);
  // What goes on after its time is nobody's.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}

type Outcome = { readonly results: readonly CheckResult[]; readonly faults: ReadonlySet<string> | null };

const result = (id: CheckId, level: Level, finding: string, more: Partial<CheckResult> = {}): CheckResult => ({
  id,
  level,
  finding,
  why: null,
  fix: null,
  look: null,
  subject: null,
  ...more,
});

function resultOf(id: CheckId, { faults }: Check, { fault, finding, fix = null, look = null, subject = null }: Found): CheckResult {
  const known = Object.hasOwn(faults, fault) ? faults[fault] : undefined;
  if (!known) throw new Error(`the check ${id} knows no ${fault}`);
  return result(id, known.level, finding, { why: known.why, fix, look, subject });
}

/** Runs one check. A check that fails or takes too long is a warning of its own: not to know is no good sign. */
async function outcomeOf(id: CheckId, ms: number, context: CheckContext): Promise<Outcome> {
  const one: Check = checks[id];
  const again = { why: 'What could not be looked at may be wrong.', look: probes.checks(context.installation.command, id) };
  try {
    const found = await withTimeout(ms, one.run(context));
    const shown = found.slice(0, maxFindings).map((each) => resultOf(id, one, each));
    const rest = found.length - shown.length;
    const more = rest > 0 ? [result(id, 'notice', `${rest} more of the same are not shown.`, again)] : [];
    const results = shown.length > 0 ? [...shown, ...more] : [result(id, 'ok', one.okText)];
    return { results, faults: new Set(found.map(({ fault }) => fault)) };
  } catch (error) {
    const { code } = error as { code?: unknown };
    const why =
      error instanceof Late
        ? `took longer than ${(ms / 1000).toFixed(1)} s`
        : `failed (${typeof code === 'string' ? code : (error as Error).name})`;
    return { results: [result(id, 'warning', `The look at "${one.title}" ${why}.`, again)], faults: null };
  }
}

const skipped = (id: CheckId, why: string): Outcome => ({ results: [result(id, 'skipped', why)], faults: null });

/** Runs statements that can change nothing, two looks at a time. @throws {Error} where there is no database */
function readOnlyAt(database: Installation['database']): CheckContext['database'] {
  const lane = createLanes(lanes);
  return async (work) => {
    if (!isOpenDatabase(database)) throw new Error('there is no database to ask');
    return lane(() => readOnly(database.knex, limits.statement, work));
  };
}

/**
 * Looks at everything that is known to go wrong with an installation. Checks run side by side, each with a time limit; those that need a database, or the
 * schema of this release, wait for the checks of these, and are skipped when there is none. Nine seconds at most; nothing is changed.
 * @param only the checks that are wanted; the others are left out, though some are run for what they tell these
 */
export async function diagnose(installation: Installation, only: readonly CheckId[] | null = null): Promise<Diagnosis> {
  const { database, variables } = installation;
  const ask = readOnlyAt(database);
  const wrong = new Set(variables.problems.flatMap(({ variables: named }) => named));
  const isSelected = (id: CheckId) => only === null || only.includes(id);
  const blocked = (id: CheckId): string | undefined =>
    checks[id].variables?.find((name) => wrong.has(name) || wrong.has(fileVariable(name)));

  const until = performance.now() + limits.all;
  const context: CheckContext = { installation, database: ask, hasSchema: async () => (await schema) === null };
  const run = async (id: CheckId, ms: number, ready: Promise<string | null>): Promise<Outcome> => {
    const variable = blocked(id);
    if (variable !== undefined) return skipped(id, `Not looked at: ${variable} is wrong (config).`);
    const missing = await ready;
    return missing === null ? outcomeOf(id, Math.max(leastMs, Math.min(ms, until - performance.now())), context) : skipped(id, missing);
  };

  const connected = run('database', limits.first, Promise.resolve(null));
  const answers = connected.then(({ faults }) => (isUsable(faults) ? null : 'Not looked at: the database does not answer (database).'));
  const compared = run('migrations', limits.first, answers);
  const schema = compared.then(({ results, faults }) =>
    faults !== null && !faults.has('pending') ? null : (skippedText(results) ?? 'Not looked at: migrations are pending (migrations).'),
  );
  const ready = { none: Promise.resolve(null), database: answers, schema };
  const outcomes = (Object.keys(checks) as CheckId[]).filter(isSelected).map((id) => {
    if (id === 'database') return connected;
    if (id === 'migrations') return compared;
    return run(id, limits.check, ready[checks[id].needs ?? 'none']);
  });
  const results = (await Promise.all(outcomes)).flatMap((outcome) => outcome.results);
  await Promise.all([connected, compared]);
  return { status: statusOf(results), checks: results };
}

const unusable = ['absent', 'away', 'directory', 'refused', 'missing'];
const isUsable = (faults: ReadonlySet<string> | null) => faults !== null && !unusable.some((fault) => faults.has(fault));
const skippedText = (results: readonly CheckResult[]) => results.find(({ level }) => level === 'skipped')?.finding ?? null;

function statusOf(results: readonly CheckResult[]): Diagnosis['status'] {
  if (results.some(({ level }) => level === 'problem')) return 'problem';
  return results.some(({ level }) => level === 'warning') ? 'warning' : 'ok';
}

const runningAt = ofEach((_pool: Knex): { now: Promise<Diagnosis> | null } => ({ now: null }));

/** The diagnosis of a running service: those who ask at the same time share one look. */
export function sharedDiagnosis(knex: Knex, make: () => Installation): Promise<Diagnosis> {
  const running = runningAt(knex);
  return (running.now ??= diagnose(make()).finally(() => (running.now = null)));
}
