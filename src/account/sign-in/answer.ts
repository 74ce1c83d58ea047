import type { Request, Response } from 'express';
import { enrollableKinds } from '../../domain/authenticators/enrollable.js';
import type { AskedStep } from '../../domain/sign-ins/advance.js';
import { secondStepMethods } from '../../domain/sign-ins/second-step.js';
import { onwardPath, type TakenStep } from '../../http/auth/sign-in.js';
import { wantsJson } from '../../http/request/form.js';
import { userDocument } from '../user-document.js';

/** What is asked for next: factors that the person has, the last used first, or kinds that can be enrolled, and until when that can wait. */
async function secondFactorOf({ ctx }: Request, { next, user, proofs, expires_at }: AskedStep) {
  const expires_in = Math.ceil((expires_at.getTime() - ctx.clock.now().getTime()) / 1000);
  if (next.kind === 'verify') {
    const remember_device = ctx.environment.remember_device_lifetime > 0;
    return { methods: await secondStepMethods(ctx, user, proofs), expires_in, remember_device };
  }
  const skip_expires_at = next.skip_until?.toISOString() ?? null;
  return { methods: [], expires_in, remember_device: false, enroll: enrollableKinds(ctx.environment), skip_expires_at };
}

export async function stepBody(req: Request, reached: TakenStep, return_to: string | null) {
  const redirect_to = onwardPath(reached, return_to);
  if (reached.outcome !== 'asked') return { user: userDocument(reached.user), redirect_to };
  return { user: null, redirect_to, second_factor: await secondFactorOf(req, reached) };
}

/** The answer to a step of a sign-in: whoever is signed in goes on, whoever isn't yet goes to the next step; JSON says which. */
export async function answerStep(req: Request, res: Response, reached: TakenStep, return_to: string | null, status = 200): Promise<void> {
  if (!wantsJson(req)) return res.redirect(303, onwardPath(reached, return_to));
  const body = await stepBody(req, reached, return_to);
  res.status(status).set('Cache-Control', 'no-store').json(body);
}
