import type { Request, Response } from 'express';
import { transaction } from '../core/context.js';
import { endSessions, signInAgain, startSession } from '../core/sessions.js';
import { setSessionCookie } from './browser-session.js';

/**
 * Signs the user in to this browser, with a new token at every sign-in (session fixation): the same person's session goes on,
 * somebody else's ends. Needs `browserSession` before.
 */
export async function signIn(req: Request, res: Response, user_id: string, amr: string[], acr: string | null = null): Promise<void> {
  const input = { user_id, amr, acr, ip_address: req.ip ?? null, user_agent: req.headers['user-agent'] ?? null };
  const { session } = req;
  const { token } = await transaction(req.ctx, async (tx) => {
    const renewed = session?.user_id === user_id ? await signInAgain(tx, session.id, input) : null;
    if (renewed) return renewed;
    if (session && session.user_id !== user_id) await endSessions(tx, { id: session.id }, 'replaced');
    return startSession(tx, input);
  });
  setSessionCookie(req, res, token);
}
