import type { Request, Response } from 'express';
import { transaction } from '../domain/context.js';
import { onwardPath, takeStep } from '../http/auth/sign-in.js';
import { pendingOf } from '../http/request/return-to.js';
import type { Web } from '../http/web.js';
import { requireFreshness } from './freshness.js';
import { askForProof } from './link-account.js';
import { keepTokens } from '../domain/provider-tokens/tokens.js';
import type { ProviderAssertion } from './provider-assertion.js';
import { ssoRefusal, type SsoCode } from './refusal.js';
import { ProviderFailure } from './provider-failure.js';

const denied = ({ code, why }: { readonly code: SsoCode; readonly why: string }) => ssoRefusal(code, { cause: new ProviderFailure(why) });

/** Keeps the provider's tokens for the client that the sign-in is for; an account that is linked only once a second step is done waits for the next one. */
async function keepAtSignIn({ ctx }: Request, { flow: { keeps }, connection, profile, tokens }: ProviderAssertion): Promise<void> {
  if (keeps && tokens)
    await keepTokens(ctx, { connection, subject: profile.subject, user_id: null, client_id: keeps.client_id, tokens, asked: false });
}

/**
 * Signs the person in: a known account, a new one, or an existing one as the connection's mode allows (specification 8.3). It is a first step: what two-step
 * and policy ask for comes after it, and an account is linked when the sign-in is whole.
 */
export async function finishLogin(web: Web, req: Request, res: Response, answer: ProviderAssertion): Promise<void> {
  const { flow, connection, profile, authentication, session_until, spend } = answer;
  const { return_to } = flow;
  requireFreshness(req, connection, flow.demand, authentication.auth_time);
  // The application on whose behalf the person signs in.
  const client_id = pendingOf(req, return_to)?.parameters['client_id'] ?? null;
  const replayed = { code: 'saml_replayed', why: 'the assertion was used before' } as const;
  const uses = spend && { spend, refuse: async () => ({ outcome: 'denied', ...replayed }) as const };
  const person = { connection, profile, authentication, client_id, session_until, uses };
  const reached = await takeStep(req, res, { method: 'provider', ...person }, { return_to });
  if (reached.outcome === 'denied') throw denied(reached);
  if (reached.outcome === 'ask_password' && spend && !(await transaction(req.ctx, spend))) throw denied(replayed);
  if (reached.outcome === 'ask_password') return askForProof(web, req, res, { ...answer, ...reached });
  await keepAtSignIn(req, answer);
  res.redirect(303, onwardPath(reached, return_to));
}
