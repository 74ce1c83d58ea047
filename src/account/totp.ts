import type { Request, Response } from 'express';
import { sessionOf } from '../http/auth/browser-session.js';
import { activateTotpOf, defaultName, startTotp, totpPendingLifetime } from '../domain/authenticators/enrolment.js';
import { otpauthUri, totpSecretOf } from '../domain/authenticators/totp.js';
import { findAuthenticator, isTotp } from '../db/tables/authenticators.js';
import { takeStep } from '../http/auth/sign-in.js';
import { formPage } from '../http/auth/csrf.js';
import { isLanguageSwitch } from '../http/pages/language-switch.js';
import { originOf } from '../http/pages/mail-origin.js';
import type { FormPage } from '../http/pages/pages.js';
import { qrImage, type QrImage } from '../http/pages/qr.js';
import { wantsJson } from '../http/request/form.js';
import type { Web } from '../http/web.js';
import { isUuid } from '../lib/random.js';
import { done } from './done.js';
import { nameIn, refuseOnAccountPage } from './authenticators.js';
import { bodyText } from './fields.js';
import { showRecoveryCodes } from './recovery-codes-page.js';
import { refusalError, refuseFields, type StepRefusal } from './refusal.js';
import { authenticatorDocument } from './sign-in-methods.js';
import { wordsOf } from '../http/pages/words.js';
import { message, type Message } from '../lib/languages/messages.js';

/** An authenticator app is set up: it reads the code, or the secret is typed. Posts `authenticator_id` and `code` to `action`. */
export interface TotpPage extends FormPage {
  action: string;
  hidden: Record<string, string>;
  qr: QrImage;
  /** The secret in base32, in groups of four. */
  secret: string;
  otpauth_uri: string;
  /** What the app lists it under. */
  issuer: string;
  email: string;
  /** ISO 8601; from then on it begins anew. */
  expires_at: string;
  back: { href: string; label: string };
}

declare module '../http/pages/page-models.js' {
  interface PageModels {
    'account/totp': TotpPage;
  }
}

/** A TOTP that waits for its first code. */
type Pending = { readonly authenticator_id: string; readonly secret: string; readonly otpauth_uri: string; readonly expires_at: Date };

/** Where an app is set up: whose it is, where its first code goes, and what leads back. */
export type TotpForm = Pick<TotpPage, 'action' | 'email' | 'back'> & { readonly hidden: Record<string, string>; readonly title: string };

const ownForm = (req: Request): TotpForm => ({
  action: '/account/authenticators/totp/verify',
  email: sessionOf(req).user_email,
  back: { href: '/account', label: wordsOf(req).t('common.back_to_account') },
  hidden: {},
  title: wordsOf(req).t('totp.title'),
});

export async function renderTotp(
  web: Web,
  req: Request,
  res: Response,
  pending: Pending,
  error?: Message,
  form: TotpForm = ownForm(req),
): Promise<void> {
  const { authenticator_id, secret, otpauth_uri, expires_at } = pending;
  const base = formPage(req, res, form.title);
  web.renderPage(
    res,
    'account/totp',
    {
      ...base,
      action: form.action,
      hidden: { ...form.hidden, authenticator_id },
      qr: await qrImage(otpauth_uri),
      secret: secret.replaceAll(/(.{4})(?=.)/g, '$1 '),
      otpauth_uri,
      issuer: base.environment.name,
      email: form.email,
      expires_at: expires_at.toISOString(),
      back: form.back,
      errors: error === undefined ? undefined : { code: wordsOf(req).say(error) },
    },
    { status: error === undefined ? 200 : 422 },
  );
}

/** POST /account/authenticators/totp: a secret for an authenticator app; it counts once its first code was given. */
export const beginTotp = (web: Web) => async (req: Request, res: Response) => {
  const [name, problems] = nameIn(req, defaultName('totp'));
  const wrongName = refuseFields({ name: problems });
  if (wrongName) return refuseOnAccountPage(web, req, res, wrongName);
  const started = await startTotp(req.ctx, { user_id: sessionOf(req).user_id, name });
  if (started.outcome !== 'started') return refuseOnAccountPage(web, req, res, { status: 409, code: 'too_many' });
  const { authenticator_id, secret, otpauth_uri, expires_in } = started;
  if (wantsJson(req))
    return void res.status(201).set('Cache-Control', 'no-store').json({ authenticator_id, secret, otpauth_uri, expires_in });
  const expires_at = new Date(req.ctx.clock.now().getTime() + totpPendingLifetime * 1000);
  await renderTotp(web, req, res, { authenticator_id, secret, otpauth_uri, expires_at });
};

export const wrongTotpCode = message('refusal.totp_wrong_code');

/** The TOTP of the id that waits for its first code; null when it isn't the person's, or waits no more. */
export async function pendingTotp(
  req: Request,
  id: string,
  { id: user_id, email }: { id: string; email: string },
): Promise<Pending | null> {
  const row = isUuid(id) ? await findAuthenticator(req.ctx.scope, id) : null;
  if (!row || !isTotp(row) || row.user_id !== user_id || row.expires_at === null) return null;
  const secret = totpSecretOf(req.ctx, row);
  const { algorithm, digits, period, expires_at } = row;
  const { branding, name } = req.ctx.environment;
  const otpauth_uri = otpauthUri(secret, { issuer: branding?.name || name, label: email, algorithm, digits, period });
  return { authenticator_id: id, secret, otpauth_uri, expires_at };
}

/** Shows the same secret again. */
async function askAgain(web: Web, req: Request, res: Response, id: string, error?: Message): Promise<void> {
  const { user_id, user_email } = sessionOf(req);
  const pending = await pendingTotp(req, id, { id: user_id, email: user_email });
  if (!pending) return refuseOnAccountPage(web, req, res, totpExpired);
  await renderTotp(web, req, res, pending, error);
}

/** The refusal when no TOTP waits for its first code any more. */
export const totpExpired: StepRefusal = { status: 410, code: 'code_expired', text: message('refusal.totp_expired') };

/** POST /account/authenticators/totp/verify: its first code makes it good. Having it is a proof; the first one brings recovery codes. */
export const verifyTotp = (web: Web) => async (req: Request, res: Response) => {
  const [id, code] = [bodyText(req, 'authenticator_id'), bodyText(req, 'code')];
  if (isLanguageSwitch(req, res)) return askAgain(web, req, res, id);
  const { id: session_id, user_id } = sessionOf(req);
  const input = { authenticator_id: id, code, basis: { session_id } };
  const added = await activateTotpOf(req.ctx, user_id, input, originOf(req));
  if (added.outcome !== 'added') {
    if (added.outcome === 'expired') return refuseOnAccountPage(web, req, res, totpExpired);
    if (!wantsJson(req)) return askAgain(web, req, res, id, wrongTotpCode);
    throw refusalError({ status: 422, code: 'invalid_code', text: wrongTotpCode, fields: { code: ['invalid_code'] } });
  }
  await takeStep(req, res, { method: 'enrolled', proof: added.proof }, { current: sessionOf(req) });
  const authenticator = authenticatorDocument(added.authenticator);
  if (added.recovery_codes === null) return done(req, res, 'totp', { authenticator });
  showRecoveryCodes(web, req, res, { status: 200, body: { authenticator }, codes: added.recovery_codes });
};
