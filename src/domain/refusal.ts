import { Duplicate } from '../db/connection/failures.js';
import type { ApiErrorCode } from '../lib/error-codes.js';
import { own } from '../lib/named.js';

/** The attribute at fault; an array names a place inside it. */
export type AtFault = string | readonly (string | number)[];

/** One reason why an operation can't be done, without the dialect of a surface. `detail` is public. */
export type Problem = {
  readonly status: 401 | 403 | 404 | 409 | 410 | 422;
  readonly code: ApiErrorCode;
  readonly detail: string;
  readonly attribute?: AtFault;
  /** The relationship at fault. */
  readonly relationship?: string;
  readonly meta?: Readonly<Record<string, unknown>>;
};

/** 422: what an attribute says can't be. */
export const unfit = (attribute: AtFault, code: ApiErrorCode, detail: string): Problem => ({ status: 422, code, detail, attribute });

export const invalidValue = (attribute: AtFault, detail: string): Problem => unfit(attribute, 'invalid_value', detail);

/** 422: what a relationship names can't be. */
export const unfitRelationship = (relationship: string, code: ApiErrorCode, detail: string): Problem => ({
  status: 422,
  code,
  detail,
  relationship,
});

/** Thrown when the domain refuses an operation on a record; the Management API and the dashboard render it. */
export class Refusal extends Error {
  readonly problems: readonly Problem[];
  constructor(problems: Problem | readonly Problem[]) {
    const list = Array.isArray(problems) ? (problems as readonly Problem[]) : [problems as Problem];
    super(list.map((problem) => `${problem.code}: ${problem.detail}`).join('; '));
    this.name = 'Refusal';
    this.problems = list;
  }
}

/** Refuses what has problems. @throws {Refusal} that lists them */
export function refuseIfAny(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new Refusal(problems);
}

/** A state that doesn't allow the move (specification 6.3.4). */
export const invalidTransition = (detail: string): Refusal => new Refusal({ status: 409, code: 'invalid_transition', detail });

/** 403: a record that the service made for itself can't be changed or deleted. */
export const systemRecord = (detail: string): Refusal => new Refusal({ status: 403, code: 'system_record', detail });

/**
 * Runs `work` and turns a violated unique index into a 409 at the place that the map gives for it. The index decides, not a look
 * beforehand: of parallel writes one wins.
 * @throws {Refusal} 409 `already_exists` unless the map has another code, and what `work` throws
 */
export async function refuseDuplicates<T>(
  constraints: Readonly<Record<string, Pick<Problem, 'attribute' | 'relationship' | 'detail'> & { readonly code?: ApiErrorCode }>>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const constraint = error instanceof Duplicate ? error.constraint : null;
    const pointer = constraint === null ? undefined : own(constraints, constraint);
    if (!pointer) throw error;
    throw new Refusal({ status: 409, code: 'already_exists', ...pointer });
  }
}
