import { transaction, type Context } from '../../src/domain/context.js';
import { ProofSpent, spendSingleUse, type SingleUse } from '../../src/domain/proofs/single-use.js';

/** What a proof comes to once it is spent, in a transaction of its own, as a sign-in spends it in that of the session. */
export async function spent<V extends { readonly outcome: string }>(ctx: Context, judged: Promise<V>): Promise<V> {
  const verdict = await judged;
  const { uses = null } = verdict as { readonly uses?: SingleUse<V> };
  try {
    await transaction(ctx, (tx) => spendSingleUse(tx, uses));
    return verdict;
  } catch (error) {
    if (error instanceof ProofSpent && uses) return uses.refuse();
    throw error;
  }
}
