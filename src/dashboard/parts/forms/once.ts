import type { Request } from 'express';
import { digest } from '../../../lib/digest.js';
import { randomToken } from '../../../lib/random.js';
import type { Call } from '../../../management/call.js';
import { AlreadyDone, type Repeatable } from '../../../management/idempotency.js';
import type { Write, WriteResult } from '../../../management/write-state.js';
import { perform } from '../../../management/write-steps.js';

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
export type Once = { readonly first: WriteResult } | { readonly again: string };

/**
 * Does a write once per rendered form. The stored answer of the first time holds nothing but where it led, so that reloading a page that
 * showed a secret leads to one that shows only its hint.
 */
export async function writeOnce(req: Request, pathAfter: (outcome: WriteResult) => string, write: Write): Promise<Once> {
  const answer = (_tx: Call, outcome: WriteResult) => ({ status: 303, headers: { Location: pathAfter(outcome) }, body: '' });
  try {
    return { first: await perform(req.call, { ...write, repeatable: repeatableOf(req), answer }) };
  } catch (error) {
    if (error instanceof AlreadyDone) return { again: error.reply.headers['Location'] ?? '/dashboard' };
    throw error;
  }
}
