import type { Request, Response } from 'express';
import { transaction } from '../core/context.js';
import { endSessions, startSession } from '../core/sessions.js';
import { setSessionCookie } from './browser-session.js';

/**
 * Gives this browser a session of the user: a new token at every sign-in (session fixation), and an end to the one it had. Needs
 * `browserSession` before.
 */
export async function signIn(req: Request, res: Response, user_id: string, amr: string[], acr: string | null = null): Promise<void> {
  const { token } = await transaction(req.ctx, async (tx) => {
    if (req.session) await endSessions(tx, { id: req.session.id }, 'replaced');
    return startSession(tx, { user_id, amr, acr, ip_address: req.ip ?? null, user_agent: req.headers['user-agent'] ?? null });
  });
  setSessionCookie(req, res, token);
}
