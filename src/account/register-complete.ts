import type { Request, Response } from 'express';
import { passwordProblems } from '../domain/passwords/passwords.js';
import { completeRegistration } from '../domain/registration/registration.js';
import type { PasscodeRow } from '../db/tables/passcodes.js';
import { findUser, type UserRow } from '../db/tables/users.js';
import { proofNow, type SessionProof } from '../domain/proofs/proofs.js';
import { formPage } from '../http/auth/csrf.js';
import { onwardPath, takeStep } from '../http/auth/sign-in.js';
import { wantsJson } from '../http/request/form.js';
import { isLanguageSwitch } from '../http/pages/language-switch.js';
import type { Web } from '../http/web.js';
import { bodyReturnTo, bodyText, credentialIn, nameProblems } from './fields.js';
import { pendingClient, pendingFormAction } from './sign-in/login.js';
import { showRecoveryCodes } from './recovery-codes-page.js';
import { pageErrors, refusalError, refuseFields, type StepRefusal } from './refusal.js';
import { completeByPasskey, namesIn, refuseNames, registrationExpired, requireRegistration } from './register-passkey.js';
import { answerStep, stepBody } from './sign-in/answer.js';
import { passkeyPart } from '../http/auth/passkey-part.js';
import { wordsOf } from '../http/pages/words.js';

type CompleteState = {
  registration: Pick<PasscodeRow, 'email'>;
  registration_token: string;
  return_to: string | null;
  values?: Record<string, string>;
  refusal?: StepRefusal;
};

export function renderComplete(web: Web, req: Request, res: Response, state: CompleteState): void {
  const { environment } = req.ctx;
  web.renderPage(
    res,
    'account/register-complete',
    {
      ...formPage(req, res, wordsOf(req).t('complete.title')),
      registration_token: state.registration_token,
      email: state.registration.email,
      password_min_length: environment.password_min_length,
      return_to: state.return_to ?? '',
      passkey: environment.passkeys_enabled ? passkeyPart(req, '/register/passkey/options', null) : null,
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

/** An account that was just made, and what proves that the person is its owner. */
type Made = { readonly user: UserRow; readonly proofs: readonly SessionProof[]; readonly recovery_codes: string[] | null };

/** Makes the account with the passkey in the body, or with the password; or why not. */
async function make(req: Request, registration: PasscodeRow, return_to: string | null): Promise<Made | StepRefusal> {
  const credential = credentialIn(req);
  const names = namesIn(req);
  const input = { ...names, password: bodyText(req, 'password') };
  const refused = credential === undefined ? refuseInput(req, registration.email, input) : refuseNames(names);
  if (refused) return refused;
  const client_id = (await pendingClient(req, return_to))?.id ?? null;
  // A code by mail, and what the person signs in with from now on.
  const byMail = proofNow('email', req.ctx.clock.now());
  if (credential !== undefined) {
    if (!req.ctx.environment.passkeys_enabled) return { status: 403, code: 'passkeys_disabled' };
    const made = await completeByPasskey(req, registration, { credential, client_id });
    if (made.outcome === 'refused') return made.refusal;
    // As it is with its passkey.
    const user = (await findUser(req.ctx.scope, made.user.id)) ?? made.user;
    return { user, proofs: [byMail, made.proof], recovery_codes: made.recovery_codes };
  }
  const completion = await completeRegistration(req.ctx, { ...input, token: bodyText(req, 'registration_token'), client_id });
  if (completion.outcome === 'expired') return registrationExpired;
  if (completion.outcome === 'password_breached') return refuseFields({ password: ['password_breached'] }) as StepRefusal;
  if (completion.outcome === 'email_taken') return { status: 409, code: 'email_taken' };
  return { user: completion.user, proofs: [byMail, proofNow('password', req.ctx.clock.now())], recovery_codes: null };
}

/**
 * POST /register/complete (specification 4.3.3): makes the account and signs in. Refused fields and a taken address don't spend the token;
 * only here somebody who has proven the address learns that it has an account.
 */
export const complete = (web: Web) => async (req: Request, res: Response) => {
  const return_to = bodyReturnTo(req);
  const registration = await requireRegistration(req);
  const registration_token = bodyText(req, 'registration_token');
  if (isLanguageSwitch(req, res))
    return renderComplete(web, req, res, { registration, registration_token, return_to, values: namesIn(req) });
  const made = await make(req, registration, return_to);
  if ('status' in made) {
    if (wantsJson(req) || made.status === 410) throw refusalError(made);
    return renderComplete(web, req, res, { registration, registration_token, return_to, values: namesIn(req), refusal: made });
  }
  const { user, proofs, recovery_codes } = made;
  const onward = await takeStep(req, res, { method: 'registration', user, proofs }, { return_to });
  if (recovery_codes === null) return answerStep(req, res, onward, return_to, 201);
  const next = { href: onwardPath(onward, return_to), label: wordsOf(req).t('recovery_codes.kept') };
  showRecoveryCodes(web, req, res, {
    status: 201,
    codes: recovery_codes,
    body: await stepBody(req, onward, return_to),
    next,
    email: user.email,
  });
};
