import type { Request, Response } from 'express';
import { requestOptions } from '../../domain/authenticators/passkey-sign-in.js';
import { secondStepMethods, type SecondStepMethod } from '../../domain/sign-ins/second-step.js';
import { browserSecret } from '../../http/auth/browser-secret.js';
import type { Claimant } from '../../http/auth/claimant.js';
import { formPage } from '../../http/auth/csrf.js';
import type { FormPage, PageClient, PagePasskey } from '../../http/pages/pages.js';
import type { Web } from '../../http/web.js';
import { pendingClient, pendingFormAction } from './login.js';
import { requestedAcrValues } from './enroll-page.js';
import { pageErrors, type StepRefusal } from '../refusal.js';
import { passkeyPart } from '../../http/auth/passkey-part.js';
import { pageClient } from '../../http/pages/shown-client.js';
import { wordsOf } from '../../http/pages/words.js';

/**
 * The second step. Posts `method` and `code`, or `credential`, with `remember_device`, to `action`; asks for a mail at `email_action`. The other
 * methods are links to `action` with `method`.
 */
export type VerifyPart = {
  readonly action: string;
  readonly email_action: string;
  /** Further fields of each form, and of the query of each link. */
  readonly hidden: Record<string, string>;
  /** What the person has, the last used first. */
  readonly methods: readonly SecondStepMethod[];
  /** The one that is shown; null where there is none at all. */
  readonly method: SecondStepMethod | null;
  readonly email: string;
  readonly sent: boolean;
  /** Days that this browser can be remembered; null: not at all. */
  readonly remember_days: number | null;
  /** Null unless it is the method that is shown. */
  readonly passkey: PagePasskey | null;
};

export interface LoginVerifyPage extends FormPage {
  client: PageClient | null;
  email: string;
  verify: VerifyPart;
  /** ISO 8601; null: there is no limit but that of the session. */
  expires_at: string | null;
  return_to: string;
}

declare module '../../http/pages/page-models.js' {
  interface PageModels {
    'account/login-verify': LoginVerifyPage;
  }
}

export type VerifyState = {
  readonly claimant: Claimant;
  readonly return_to: string | null;
  /** Null: the one that was used last. */
  readonly method: SecondStepMethod | null;
  /** A code is under way. */
  readonly sent: boolean;
  readonly refusal?: StepRefusal;
};

/** Whether the method leads to the class that a session is to reach: mail raises none. */
const reachesRequested = (method: SecondStepMethod, requested: string): boolean =>
  requested === 'phr' ? method === 'passkey' : requested !== '2' || method !== 'email';

async function verifyPart(req: Request, res: Response, state: VerifyState): Promise<VerifyPart> {
  const { claimant, return_to } = state;
  const { environment } = req.ctx;
  const acr_values = requestedAcrValues(req);
  const offered = await secondStepMethods(req.ctx, claimant.user, claimant.proofs);
  const methods = offered.filter((method) => reachesRequested(method, acr_values));
  const method = state.method !== null && methods.includes(state.method) ? state.method : (methods[0] ?? null);
  const purpose = claimant.sign_in ? 'second_step' : 'confirm';
  const using = { purpose, browser: browserSecret(req, res), user_id: claimant.user.id } as const;
  return {
    action: '/login/verify',
    email_action: '/login/verify/email',
    hidden: { return_to: return_to ?? '', acr_values },
    methods,
    method,
    email: claimant.user.email,
    sent: state.sent,
    remember_days:
      claimant.sign_in && environment.remember_device_lifetime > 0
        ? Math.max(1, Math.round(environment.remember_device_lifetime / 86_400))
        : null,
    passkey: method === 'passkey' ? passkeyPart(req, '/login/verify/passkey/options', await requestOptions(req.ctx, using)) : null,
  };
}

export async function renderSecondStep(web: Web, req: Request, res: Response, state: VerifyState): Promise<void> {
  const { claimant, return_to, refusal } = state;
  const client = await pendingClient(req, return_to);
  web.renderPage(
    res,
    'account/login-verify',
    {
      ...formPage(req, res, wordsOf(req).t('verify.title')),
      client: pageClient(wordsOf(req), client),
      email: claimant.user.email,
      verify: await verifyPart(req, res, state),
      expires_at: claimant.sign_in?.expires_at.toISOString() ?? null,
      return_to: return_to ?? '',
      errors: refusal && (refusal.fields?.['code'] && refusal.text ? { code: wordsOf(req).say(refusal.text) } : pageErrors(req, refusal)),
    },
    { status: refusal?.status ?? 200, formAction: pendingFormAction(req, return_to) },
  );
}
