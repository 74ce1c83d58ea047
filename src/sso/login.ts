import type { Request, Response } from 'express';
import { originOf } from '../http/mail-origin.js';
import { pendingOf } from '../http/return-to.js';
import { signIn } from '../http/sign-in.js';
import type { Web } from '../http/web.js';
import type { Answer } from './callback.js';
import { askForProof } from './link-account.js';
import { decide } from './linking.js';
import { authenticationOf } from './profile.js';
import { ssoRefusal } from './refusal.js';
import { isTaken, settle } from './settle.js';

const home = '/account';

/** The application on whose behalf the person signs in. */
const clientOfFlow = (req: Request, return_to: string | null) => pendingOf(req, return_to)?.parameters['client_id'] ?? null;

const skewMs = 60_000;

/**
 * Refuses an older sign-in where a fresh one was asked for (OIDC Core 3.1.2.1 `max_age`, 3.1.3.7 rule 13). Providers that don't say when
 * the person signed in are taken at their word: many know neither `max_age` nor `auth_time`.
 */
function refuseStale({ flow, connection, claims }: Answer): void {
  const at = claims['auth_time'];
  if (typeof flow.fresh_from !== 'number' || typeof at !== 'number' || at * 1000 >= flow.fresh_from - skewMs) return;
  throw ssoRefusal('sso_access_denied', {
    text: `A fresh sign-in was needed, but ${connection.display_name} went by an older one. Sign out there, then try again.`,
  });
}

/** Signs the person in: a known account, a new one, or an existing one as the connection's mode allows (specification 8.3). */
export async function finishLogin(web: Web, req: Request, res: Response, answer: Answer): Promise<void> {
  const { flow, connection, profile, claims } = answer;
  refuseStale(answer);
  for (let attempt = 1; ; attempt++) {
    const decision = await decide(req.ctx, connection, profile);
    if (decision.kind === 'refuse') throw decision.refusal;
    if (decision.kind === 'ask') return askForProof(web, req, res, { ...answer, user: decision.user });
    try {
      const asker = { client_id: clientOfFlow(req, flow.return_to), origin: originOf(req) };
      const user = await settle(req.ctx, connection, profile, decision, asker);
      const { amr, acr } = authenticationOf(claims);
      await signIn(req, res, user.id, amr, acr);
      req.ctx.metrics.logins.inc({ method: 'sso', outcome: 'ok' });
      req.ctx.metrics.daily.add(req.ctx.environment.id, 'logins', 'succeeded');
      return res.redirect(303, flow.return_to ?? home);
    } catch (error) {
      // Two first logins of one person at the same moment: the second finds what the first has made.
      if (!isTaken(error) || attempt > 2) throw error;
    }
  }
}
