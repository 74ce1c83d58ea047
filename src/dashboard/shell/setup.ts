import type { Request, Response } from 'express';
import { hashNewPassword } from '../../domain/users/new-password.js';
import { passwordProblems } from '../../domain/passwords/passwords.js';
import { createFirstAdministrator, mayUseSetup } from '../../domain/users/setup.js';
import { proofNow } from '../../domain/proofs/proofs.js';
import { PageError } from '../../errors.js';
import { formPage } from '../../http/auth/csrf.js';
import { errorTexts } from '../../http/pages/error-texts.js';
import { queryOf } from '../../http/request/form.js';
import type { FormPage } from '../../http/pages/page-models.js';
import { onwardPath, takeStep } from '../../http/auth/sign-in.js';
import type { Web } from '../../http/web.js';
import { normalizeEmail } from '../../lib/email-address.js';
import { named, own } from '../../lib/named.js';
import { viewTexts } from '../parts/view-texts.js';

declare module '../../http/pages/page-models.js' {
  interface PageModels {
    'dashboard/setup': SetupPage;
  }
}

/** `values`: email, first_name, last_name. Posts them with `token` and `password` to /dashboard/setup. */
export interface SetupPage extends FormPage {
  texts: typeof viewTexts;
  token: string;
  password_min_length: number;
}

const invalid = () =>
  new PageError(
    403,
    'setup_token_invalid',
    'This setup link is no longer valid. Restart the service: as long as there is no administrator, its log shows a new one.',
  );

type Values = { email: string; first_name: string; last_name: string };

function render(web: Web, req: Request, res: Response, token: string, values: Values, errors?: Record<string, string>): void {
  const base = formPage(req, res, 'Create the first administrator');
  const { password_min_length } = req.ctx.environment;
  web.renderPage(
    res,
    'dashboard/setup',
    { ...base, texts: viewTexts, token, values, errors, password_min_length },
    { status: errors ? 422 : 200 },
  );
}

/** GET /dashboard/setup?token=: the form for the first administrator, as long as there is none (specification 1.3.2). */
export const setupPage = (web: Web) => async (req: Request, res: Response) => {
  const token = queryOf(req).get('token') ?? '';
  if (!(await mayUseSetup(req.ctx, token))) throw invalid();
  render(web, req, res, token, { email: '', first_name: '', last_name: '' });
};

/** POST /dashboard/setup: makes the administrator and signs this browser in. */
export const setup = (web: Web) => async (req: Request, res: Response) => {
  const { ctx } = req;
  const field = (name: string) => {
    const value = own(req.body as Record<string, unknown>, name);
    return typeof value === 'string' ? value : '';
  };
  const token = field('token');
  if (!(await mayUseSetup(ctx, token))) throw invalid();
  const values = { email: field('email').trim(), first_name: field('first_name').trim(), last_name: field('last_name').trim() };
  const password = field('password');
  const address = normalizeEmail(values.email);
  const [problem] = passwordProblems(password, { ...values, min_length: ctx.environment.password_min_length });
  const errors: Record<string, string> = named();
  if (!address) errors['email'] = errorTexts.invalid_email;
  for (const name of ['first_name', 'last_name'] as const) if (values[name] === '') errors[name] = errorTexts.required;
  if (password === '') errors['password'] = errorTexts.required;
  else if (problem) errors['password'] = errorTexts[problem];
  if (!address || Object.keys(errors).length > 0) return render(web, req, res, token, values, errors);
  const chosen = await hashNewPassword(ctx, password);
  if (chosen === null) return render(web, req, res, token, values, named({ password: errorTexts.password_breached }));
  const user = await createFirstAdministrator(ctx, { ...address, first_name: values.first_name, last_name: values.last_name, ...chosen });
  if (!user) throw invalid();
  const proofs = [proofNow('password', ctx.clock.now())];
  res.redirect(303, onwardPath(await takeStep(req, res, { method: 'registration', user, proofs }), '/dashboard'));
};
