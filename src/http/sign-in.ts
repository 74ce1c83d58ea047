import type { Request, Response } from 'express';
import { transaction } from '../core/context.js';
import { endSessions, signInAgain, startSession, type ProviderSignIn } from '../core/sessions.js';
import { holdPassword } from '../db/tables/users.js';
import { PageError } from '../errors.js';
import { setSessionCookie } from './browser-session.js';
import { errorTexts } from './error-texts.js';

/**
 * Signs the user in to this browser, with a new token at every sign-in (session fixation): the same person's session goes on,
 * somebody else's ends. Needs `browserSession` before.
 * @param proven_hash the hash of the password that was proven: changed meanwhile, it signs nobody in, since a reset ends what rests on the old one
 * @param provider what the provider says of the sign-in there, when the person came through one
 * @throws {PageError} 401 when the password was changed a moment ago
 */
export async function signIn(
  req: Request,
  res: Response,
  user_id: string,
  amr: string[],
  acr: string | null = null,
  proven_hash: string | null = null,
  provider: ProviderSignIn | null = null,
): Promise<void> {
  const input = { user_id, amr, acr, provider, ip_address: req.ip ?? null, user_agent: req.headers['user-agent'] ?? null };
  const { session } = req;
  const started = await transaction(req.ctx, async (tx) => {
    if (proven_hash !== null && !(await holdPassword(tx.scope, user_id, proven_hash))) return null;
    const renewed = session?.user_id === user_id ? await signInAgain(tx, session.id, input) : null;
    if (renewed) return renewed;
    if (session && session.user_id !== user_id) await endSessions(tx, { id: session.id }, 'replaced');
    return startSession(tx, input);
  });
  if (!started) throw new PageError(401, 'invalid_credentials', errorTexts.invalid_credentials);
  setSessionCookie(req, res, started.token);
}
