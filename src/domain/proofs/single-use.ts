import type { Context } from '../context.js';

/** What a right proof uses up. It is spent in the transaction of what the proof opens: when that fails, the proof is still good. */
export type SingleUse<Refusal = unknown> = {
  /** One conditional statement decides: true for one caller, false for all others. Call it in a transaction that holds the user. */
  readonly spend: (tx: Context) => Promise<boolean>;
  /** For a proof that `spend` doesn't take, once its transaction is rolled back: counts and records it as a wrong one. */
  readonly refuse: () => Promise<Refusal>;
};

/** A right proof that can't be spent any more: another request came first. */
export class ProofSpent extends Error {
  constructor() {
    super('the proof is spent');
  }
}

/** Spends what a proof uses up, if anything, in a transaction that holds the user. @throws {ProofSpent} */
export async function spendSingleUse(tx: Context, uses: SingleUse | null): Promise<void> {
  if (uses && !(await uses.spend(tx))) throw new ProofSpent();
}
