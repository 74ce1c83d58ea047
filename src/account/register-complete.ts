import type { Request, Response } from 'express';
import { passwordProblems } from '../domain/passwords/passwords.js';
import { completeRegistration, findProvenRegistration } from '../domain/registration/registration.js';
import type { PasscodeRow } from '../db/tables/passcodes.js';
import { proofNow } from '../domain/sessions/proofs.js';
import { csrfToken } from '../http/auth/csrf.js';
import { wantsJson } from '../http/request/form.js';
import { basePage } from '../http/pages/pages.js';
import { signIn } from '../http/auth/sign-in.js';
import type { Web } from '../http/web.js';
import { bodyReturnTo, bodyText, nameProblems } from './fields.js';
import { pendingClient, pendingFormAction } from './login.js';
import { pageErrors, refusalError, refuseFields, type StepRefusal } from './refusal.js';
import { userDocument } from './user-document.js';

type CompleteState = {
  registration: Pick<PasscodeRow, 'email'>;
  registration_token: string;
  return_to: string | null;
  values?: Record<string, string>;
  refusal?: StepRefusal;
};

/** The page with name and password. */
export function renderComplete(web: Web, req: Request, res: Response, state: CompleteState): void {
  const { environment } = req.ctx;
  web.renderPage(
    res,
    'account/register-complete',
    {
      ...basePage(environment, { title: 'Your name and password', request_id: req.request_id, csrf_token: csrfToken(req, res) }),
      registration_token: state.registration_token,
      email: state.registration.email,
      password_min_length: environment.password_min_length,
      return_to: state.return_to ?? '',
      values: state.values,
      errors: state.refusal && pageErrors(req, state.refusal),
    },
    { status: state.refusal?.status ?? 200, formAction: pendingFormAction(req, state.return_to) },
  );
}

/** What is wrong with the fields, in the order of the page. */
function refuseInput(req: Request, email: string, input: { first_name: string; last_name: string; password: string }): StepRefusal | null {
  const { first_name, last_name, password } = input;
  const min_length = req.ctx.environment.password_min_length;
  return refuseFields({
    first_name: nameProblems(first_name),
    last_name: nameProblems(last_name),
    password: password === '' ? ['required'] : passwordProblems(password, { email, first_name, last_name, min_length }),
  });
}

/**
 * POST /register/complete (specification 4.3.3): makes the account and signs in. Refused fields and a taken address don't spend the token;
 * only here somebody who has proven the address learns that it has an account.
 */
export function complete(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const registration_token = bodyText(req, 'registration_token');
    const return_to = bodyReturnTo(req);
    const values = { first_name: bodyText(req, 'first_name').trim(), last_name: bodyText(req, 'last_name').trim() };
    const input = { ...values, password: bodyText(req, 'password') };
    const registration = await findProvenRegistration(req.ctx, registration_token);
    if (!registration) {
      throw refusalError(
        registration_token === '' ? { status: 422, code: 'required', fields: { registration_token: ['required'] } } : expired,
      );
    }
    const refuse = (refusal: StepRefusal): void => {
      if (wantsJson(req) || refusal.status === 410) throw refusalError(refusal);
      renderComplete(web, req, res, { registration, registration_token, return_to, values, refusal });
    };
    const refused = refuseInput(req, registration.email, input);
    if (refused) return refuse(refused);
    const client = await pendingClient(req, return_to);
    const completion = await completeRegistration(req.ctx, { ...input, token: registration_token, client_id: client?.id ?? null });
    if (completion.outcome === 'expired') return refuse(expired);
    if (completion.outcome === 'password_breached') return refuse(refuseFields({ password: ['password_breached'] }) as StepRefusal);
    if (completion.outcome === 'email_taken') return refuse({ status: 409, code: 'email_taken' });
    const now = req.ctx.clock.now();
    // A code by mail, and the new password.
    const proofs = [proofNow('email', now), proofNow('password', now)];
    await signIn(req, res, { user_id: completion.user.id, proofs });
    req.ctx.metrics.logins.inc({ method: 'registration', outcome: 'ok' });
    req.ctx.metrics.daily.add(req.ctx.environment.id, 'logins', 'succeeded');
    const redirect_to = return_to ?? '/account';
    if (!wantsJson(req)) return res.redirect(303, redirect_to);
    res
      .status(201)
      .set('Cache-Control', 'no-store')
      .json({ user: userDocument(completion.user), redirect_to });
  };
}

const expired: StepRefusal = {
  status: 410,
  code: 'code_expired',
  text: 'This registration has expired, or was completed already. Start again, or sign in.',
};
