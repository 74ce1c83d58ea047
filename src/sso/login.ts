import { Duplicate } from '../db/failures.js';
import type { Request, Response } from 'express';
import { providerProof } from '../domain/sessions/proofs.js';
import { pendingOf } from '../http/request/return-to.js';
import { takeFirstStep } from '../http/auth/first-step.js';
import type { Web } from '../http/web.js';
import type { ProviderAssertion } from './provider-assertion.js';
import { requireFreshness } from './freshness.js';
import { askForProof } from './link-account.js';
import { providerTrust } from './provider-trust.js';
import { decide } from './linking.js';
import { linkingOf, settle } from './settle.js';

/** The application on whose behalf the person signs in. */
const clientOfFlow = (req: Request, return_to: string | null) => pendingOf(req, return_to)?.parameters['client_id'] ?? null;

/**
 * Signs the person in: a known account, a new one, or an existing one as the connection's mode allows (specification 8.3). It is a first step: what two-step
 * and policy ask for comes after it, and an account is linked when the sign-in is whole.
 */
export async function finishLogin(web: Web, req: Request, res: Response, answer: ProviderAssertion): Promise<void> {
  const { flow, connection, profile, authentication } = answer;
  requireFreshness(req, connection, flow.demand, authentication.auth_time);
  for (let attempt = 1; ; attempt++) {
    const decision = await decide(req.ctx, connection, profile);
    if (decision.kind === 'refuse') throw decision.refusal;
    if (decision.kind === 'ask' || decision.kind === 'prove_again')
      return askForProof(web, req, res, { ...answer, user: decision.user, again: decision.kind === 'prove_again' });
    try {
      const user = await settle(req.ctx, connection, profile, decision, clientOfFlow(req, flow.return_to));
      // `amr` of the session stays empty: how the person authenticated is the provider's statement, kept apart.
      const proofs = [providerProof(req.ctx.clock.now(), authentication.auth_time, providerTrust(connection, authentication))];
      const linking = decision.kind === 'link' ? linkingOf(connection, profile) : null;
      const step = { user, proofs, method: 'sso', provider: authentication, linking, return_to: flow.return_to } as const;
      return res.redirect(303, (await takeFirstStep(req, res, step)).redirect_to);
    } catch (error) {
      // Two concurrent first logins of one person: the second repeats the decision and finds the new account.
      if (!(error instanceof Duplicate) || attempt > 2) throw error;
    }
  }
}
