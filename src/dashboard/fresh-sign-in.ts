import type { Request, Response } from 'express';
import { provePassword } from '../core/login.js';
import { findUser } from '../db/tables/users.js';
import { errorTexts } from '../http/error-texts.js';
import { addressKey, limitBy } from '../http/rate-limits.js';
import { signIn } from '../http/sign-in.js';
import type { Web } from '../http/web.js';
import { viewerOf } from './gate.js';
import type { Field } from './page-parts.js';

const fresh = 10 * 60_000;
const name = 'current_password';

/** Whether the sign-in is too old for secrets, keys and deletions. */
export function isStale(req: Request): boolean {
  return req.ctx.clock.now().getTime() - viewerOf(req).authenticated_at.getTime() >= fresh;
}

/** The field that asks for the password again, in a form for something that needs a fresh sign-in; none while it is fresh. */
export function passwordFields(req: Request, errors: Readonly<Record<string, string>> = {}): Field[] {
  if (!isStale(req)) return [];
  return [
    {
      kind: 'password',
      name,
      label: 'Your password',
      hint: `You signed in more than ten minutes ago: show that it is still you, ${viewerOf(req).user_email}. Without a password, sign out and in again.`,
      optional: false,
      value: '',
      chosen: [],
      choices: [],
      error: errors[name] ?? null,
      attributes: { autocomplete: 'current-password', maxlength: 1024 },
    },
  ];
}

export type Prove = (req: Request, res: Response) => Promise<Record<string, string>>;

/**
 * Proves a fresh sign-in: either it is one, or the form bore the right password, which renews it. Wrong passwords count against the limits
 * and the lockout of the login. Answers the errors of the field, empty when all is well.
 */
export function createProve(web: Web): Prove {
  const { login } = web.deps.config.rateLimits;
  const byAddress = limitBy(web.limiter, { name: 'login', limit: login, key: (req) => `${req.ctx.environment.id} ${addressKey(req.ip)}` });
  const byAccount = limitBy(web.limiter, {
    name: 'login_email',
    limit: login,
    key: (req) => `${req.ctx.environment.id} ${viewerOf(req).user_email.toLowerCase()}`,
  });
  return async (req, res) => {
    if (!isStale(req)) return {};
    const password = req.form.get(name);
    if (password === undefined) return { [name]: errorTexts.required };
    for (const limit of [byAddress, byAccount]) {
      await new Promise<void>((resolve, reject) => void limit(req, res, (error?: unknown) => (error ? reject(error as Error) : resolve())));
    }
    const viewer = viewerOf(req);
    const user = await findUser(req.ctx.scope, viewer.user_id);
    const verdict = user && password.length <= 1024 ? await provePassword(req.ctx, user.email, password) : null;
    if (verdict?.outcome !== 'ok' || verdict.user.id !== viewer.user_id) return { [name]: 'This is not your password.' };
    await signIn(req, res, viewer.user_id, ['pwd'], null, verdict.user.password_hash);
    req.session = { ...viewer, authenticated_at: req.ctx.clock.now() };
    return {};
  };
}

/** Labels for the error summary. */
export const passwordLabels = { [name]: 'Your password' };
