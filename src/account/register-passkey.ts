import { fullName } from '../lib/languages/languages.js';
import { languageOf } from '../http/pages/language.js';
import type { Request, Response } from 'express';
import { creationOptions, verifyNewPasskey } from '../domain/authenticators/passkey-registration.js';
import {
  completePasskeyRegistration,
  findProvenRegistration,
  userIdOf,
  type PasskeyCompletion,
} from '../domain/registration/registration.js';
import type { PasscodeRow } from '../db/tables/passcodes.js';
import { browserSecret, browserSecretOf } from '../http/auth/browser-secret.js';
import { originOf } from '../http/pages/mail-origin.js';
import { bodyText, nameProblems } from './fields.js';
import { refusalError, refuseFields, type StepRefusal } from './refusal.js';
import { message } from '../lib/languages/messages.js';

/** The registration is over, by time or because it was completed. */
export const registrationExpired: StepRefusal = { status: 410, code: 'code_expired', text: message('refusal.registration_over') };

/** Names as they are typed, without the space around them. */
export const namesIn = (req: Request) => ({ first_name: bodyText(req, 'first_name').trim(), last_name: bodyText(req, 'last_name').trim() });

/** What is wrong with the names, in the order of the page. */
export const refuseNames = ({ first_name, last_name }: { first_name: string; last_name: string }): StepRefusal | null =>
  refuseFields({ first_name: nameProblems(first_name), last_name: nameProblems(last_name) });

/** The registration that the token goes on with. @throws {PageError} 410 when there is none, 422 without a token */
export async function requireRegistration(req: Request): Promise<PasscodeRow> {
  const token = bodyText(req, 'registration_token');
  const registration = await findProvenRegistration(req.ctx, token);
  if (registration) return registration;
  const missing: StepRefusal = { status: 422, code: 'required', fields: { registration_token: ['required'] } };
  throw refusalError(token === '' ? missing : registrationExpired);
}

/** POST /register/passkey/options: what `navigator.credentials.create` takes for an account whose only way in the passkey will be. */
export async function registerOptions(req: Request, res: Response): Promise<void> {
  const registration = await requireRegistration(req);
  const names = namesIn(req);
  const refused = refuseNames(names);
  if (refused) throw refusalError(refused);
  const user = { id: userIdOf(registration), email: registration.email, name: fullName(languageOf(req), names) };
  const options = await creationOptions(req.ctx, { purpose: 'register', browser: browserSecret(req, res), user, exclude: [] });
  res.set('Cache-Control', 'no-store').json(options);
}

const refusals = {
  email_taken: { status: 409, code: 'email_taken' },
  passkey_exists: { status: 409, code: 'passkey_exists' },
  refused: { status: 422, code: 'passkey_refused' },
} as const satisfies Record<string, StepRefusal>;

/** Makes the account with a passkey in the place of a password; a refusal that isn't `code_expired` doesn't spend the token. */
export async function completeByPasskey(
  req: Request,
  registration: PasscodeRow,
  { credential, client_id }: { credential: unknown; client_id: string | null },
): Promise<Extract<PasskeyCompletion, { outcome: 'registered' }> | { readonly outcome: 'refused'; readonly refusal: StepRefusal }> {
  const refuse = (refusal: StepRefusal) => ({ outcome: 'refused', refusal }) as const;
  const verified = await verifyNewPasskey(req.ctx, {
    purpose: 'register',
    browser: browserSecretOf(req) ?? '',
    user_id: userIdOf(registration),
    host: req.headers.host,
    credential,
  });
  if (verified.outcome === 'expired') return refuse({ status: 422, code: 'challenge_expired' });
  if (verified.outcome !== 'verified') return refuse(refusals.refused);
  const input = { ...namesIn(req), token: bodyText(req, 'registration_token'), client_id };
  const completion = await completePasskeyRegistration(req.ctx, { ...input, passkey: verified.passkey, origin: originOf(req) });
  if (completion.outcome === 'registered') return completion;
  return refuse(completion.outcome === 'expired' ? registrationExpired : refusals[completion.outcome]);
}
