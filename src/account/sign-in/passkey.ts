import type { NextFunction, Request, Response } from 'express';
import { PageError } from '../../errors.js';
import { isTaken, takeStep } from '../../http/auth/sign-in.js';
import { errorMessage } from '../../http/pages/error-texts.js';
import { wantsJson } from '../../http/request/form.js';
import type { Web } from '../../http/web.js';
import { bodyReturnTo, credentialIn } from '../fields.js';
import { renderLogin } from './login.js';
import { answerStep } from './answer.js';
import { signInOptions } from '../../http/auth/passkey-part.js';
import { wordsOf } from '../../http/pages/words.js';

/** Middleware: 403 where the environment has no passkeys. */
export function passkeysOpen(req: Request, _res: Response, next: NextFunction): void {
  next(req.ctx.environment.passkeys_enabled ? undefined : new PageError(403, 'passkeys_disabled', errorMessage('passkeys_disabled')));
}

/** POST /login/passkey/options. */
export async function passkeySignInOptions(req: Request, res: Response): Promise<void> {
  res.set('Cache-Control', 'no-store').json(await signInOptions(req, res));
}

const refusals = {
  unknown: { status: 401, code: 'passkey_unknown' },
  refused: { status: 401, code: 'passkey_refused' },
  expired: { status: 410, code: 'challenge_expired' },
  blocked: { status: 403, code: 'account_blocked' },
} as const;

/** The id of a credential that nobody has here, so that the browser can stop offering it. */
function unknownId(credential: unknown): string | null {
  const id = (credential as { id?: unknown } | null)?.id;
  return typeof id === 'string' && /^[\w-]{1,1364}$/.test(id) ? id : null;
}

/** POST /login/passkey: a passkey that verifies its user is the whole sign-in. */
export const signInByPasskey = (web: Web) => async (req: Request, res: Response) => {
  const return_to = bodyReturnTo(req);
  const credential = credentialIn(req);
  const reached = await takeStep(req, res, { method: 'passkey', credential }, { return_to });
  if (isTaken(reached)) return answerStep(req, res, reached, return_to);
  const { outcome } = reached;
  const { status, code } = refusals[outcome];
  if (wantsJson(req)) throw new PageError(status, code, errorMessage(code));
  const unknown_passkey = outcome === 'unknown' ? unknownId(credential) : null;
  await renderLogin(web, req, res, {
    return_to,
    email: '',
    errors: { form: wordsOf(req).say(errorMessage(code)) },
    status,
    unknown_passkey,
  });
};
