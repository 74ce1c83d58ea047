import type { Request, Response } from 'express';
import { enrollable } from '../../domain/authenticators/enrollable.js';
import { graceEnd } from '../../domain/authenticators/next-step.js';
import type { Claimant } from '../../http/auth/claimant.js';
import { formPage } from '../../http/auth/csrf.js';
import type { FormPage, PageClient, PagePasskey } from '../../http/pages/pages.js';
import { queryOf } from '../../http/request/form.js';
import type { Web } from '../../http/web.js';
import { bodyText } from '../fields.js';
import { pendingClient, pendingFormAction } from './login.js';
import { pageErrors, type StepRefusal } from '../refusal.js';
import { passkeyPart } from '../../http/auth/passkey-part.js';
import { pageClient } from '../../http/pages/shown-client.js';
import { wordsOf } from '../../http/pages/words.js';

/** Posts `credential` to /login/enroll/passkey; to /login/enroll/totp for an app; to /login/enroll/skip. Each with `hidden`. */
export interface LoginEnrollPage extends FormPage {
  client: PageClient | null;
  email: string;
  /** Null where no passkey can be added. */
  passkey: PagePasskey | null;
  totp: boolean;
  /** ISO 8601; null: it can't wait. */
  skip_expires_at: string | null;
  hidden: Record<string, string>;
  return_to: string;
}

declare module '../../http/pages/page-models.js' {
  interface PageModels {
    'account/login-enroll': LoginEnrollPage;
  }
}

/** What a session is to reach, where the query or the body says so; empty otherwise. */
export const requestedAcrValues = (req: Request): string => (queryOf(req).get('acr_values') ?? bodyText(req, 'acr_values')).slice(0, 64);

/** The page on which a factor is enrolled before the sign-in goes on. */
export async function renderEnroll(
  web: Web,
  req: Request,
  res: Response,
  { claimant, return_to, refusal }: { claimant: Claimant; return_to: string | null; refusal?: StepRefusal },
): Promise<void> {
  const { ctx } = req;
  const client = await pendingClient(req, return_to);
  const acr_values = requestedAcrValues(req);
  const can = enrollable(ctx.environment);
  web.renderPage(
    res,
    'account/login-enroll',
    {
      ...formPage(req, res, wordsOf(req).t('enroll.title')),
      client: pageClient(wordsOf(req), client),
      email: claimant.user.email,
      passkey: can.passkey ? passkeyPart(req, '/login/enroll/passkey/options', null) : null,
      totp: can.totp && acr_values !== 'phr',
      skip_expires_at: claimant.sign_in ? (graceEnd(ctx, claimant.user)?.toISOString() ?? null) : null,
      hidden: { return_to: return_to ?? '', acr_values },
      return_to: return_to ?? '',
      errors: refusal && pageErrors(req, refusal),
    },
    { status: refusal?.status ?? 200, formAction: pendingFormAction(req, return_to) },
  );
}
