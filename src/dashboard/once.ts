import type { Request } from 'express';
import { digest } from '../lib/digest.js';
import { randomToken } from '../lib/random.js';
import { AlreadyDone, claimKey, storedReply, storeReply, type Repeatable } from '../management/idempotency.js';
import type { WriteResult, WriteOptions } from '../management/operations.js';

const field = '_form';

/** A hidden idempotency token, so that a form that is sent several times is executed once. */
export const onceField = (): Record<string, string> => ({ [field]: randomToken('') });

function repeatableOf(req: Request): Repeatable | null {
  const token = req.form.get(field);
  if (token === undefined || !/^[\w-]{43}$/.test(token)) return null;
  const path = req.originalUrl.split('?')[0] ?? '';
  return { digest: digest(['dashboard', req.call.actor.actor_id, path, token].join('\n')), fingerprint: digest('') };
}

/** `first`: the result of the write; `again`: the path to which the first submission redirected (after a reload or double click). */
export type Once<T> = { readonly first: T } | { readonly again: string };

/**
 * Runs a write once per rendered form. The stored answer of the first time holds nothing but where it led, so that reloading a page that
 * showed a secret leads to one that shows only its hint.
 */
export async function once<T>(
  req: Request,
  pathAfter: (outcome: WriteResult | null) => string,
  work: (options: WriteOptions) => Promise<T>,
): Promise<Once<T>> {
  const { call } = req;
  const repeatable = repeatableOf(req);
  if (!repeatable) return { first: await work({}) };
  const earlier = await storedReply(call, repeatable);
  if (earlier) return { again: earlier.headers['Location'] ?? '/dashboard' };
  const needed = new Set<string>();
  try {
    const first = await work({
      needed,
      begin: (inner) => claimKey(inner, repeatable),
      finish: (inner, outcome) =>
        storeReply(inner, repeatable, { status: 303, headers: { Location: pathAfter(outcome) }, body: '' }, needed),
    });
    return { first };
  } catch (error) {
    if (error instanceof AlreadyDone) return { again: error.reply.headers['Location'] ?? '/dashboard' };
    throw error;
  }
}
