import { fullName } from '../lib/languages/languages.js';
import { languageOf } from '../http/pages/language.js';
import type { Request, RequestHandler, Response } from 'express';
import { sessionOf } from '../http/auth/browser-session.js';
import { addPasskey, defaultName, makeRecoveryCodes, renameAuthenticator } from '../domain/authenticators/enrolment.js';
import { enrollable } from '../domain/authenticators/enrollable.js';
import { creationOptions, verifyNewPasskey } from '../domain/authenticators/passkey-registration.js';
import { removeAuthenticator } from '../domain/credentials/authenticator-removal.js';
import { setTwoStep } from '../domain/authenticators/two-step.js';
import { transaction } from '../domain/context.js';
import { forgetDevices } from '../domain/sessions/remembered-browsers.js';
import { isPasskey, listAuthenticatorsOfUser } from '../db/tables/authenticators.js';
import { findUser, type UserRow } from '../db/tables/users.js';
import { PageError } from '../errors.js';
import { browserSecret } from '../http/auth/browser-secret.js';
import { takeStep } from '../http/auth/sign-in.js';
import { errorMessage } from '../http/pages/error-texts.js';
import { originOf } from '../http/pages/mail-origin.js';
import { wantsJson } from '../http/request/form.js';
import type { Web } from '../http/web.js';
import { isUuid } from '../lib/random.js';
import { deviceWords } from '../lib/user-agent.js';
import { done } from './done.js';
import { renderAccount } from './account-page.js';
import { bodyText, credentialIn, shortNameProblems } from './fields.js';
import { showRecoveryCodes } from './recovery-codes-page.js';
import { refusalError, refuseFields, type StepRefusal } from './refusal.js';
import { authenticatorDocument, signInMethods } from './sign-in-methods.js';
import { message } from '../lib/languages/messages.js';

const pathId = (req: Request): string => String(req.params['id'] ?? '');
const notFound = () => new PageError(404, 'not_found', errorMessage('not_found'));

/** The person's row. @throws {PageError} 401 when the account is gone */
async function ownUser(req: Request): Promise<UserRow> {
  const user = await findUser(req.ctx.scope, sessionOf(req).user_id);
  if (!user) throw new PageError(401, 'login_required', errorMessage('login_required'));
  return user;
}

/** Refuses: as JSON with the code, else on the account page. */
export async function refuseOnAccountPage(web: Web, req: Request, res: Response, refusal: StepRefusal): Promise<void> {
  if (wantsJson(req)) throw refusalError(refusal);
  await renderAccount(web, req, res, { refusal });
}

/** Middleware: lets pass where the environment lets people add the kind. */
export const canAdd =
  (kind: 'passkey' | 'totp'): RequestHandler =>
  (req, _res, next) => {
    if (enrollable(req.ctx.environment)[kind]) return next();
    const code = req.ctx.environment.second_factor_policy === 'off' ? 'enrollment_disabled' : (`${kind}s_disabled` as const);
    next(new PageError(403, code === 'totps_disabled' ? 'totp_disabled' : code, errorMessage('enrollment_disabled')));
  };

/** The name in the body, or the one that a factor gets by itself. Its problems come second. */
export function nameIn(req: Request, otherwise: string): [name: string, problems: string[]] {
  const typed = bodyText(req, 'name').trim();
  return typed === '' ? [otherwise, []] : [typed, shortNameProblems(typed)];
}

/** GET /account/authenticators: what signs the person in beside a password and a provider. */
export async function listOwn(req: Request, res: Response): Promise<void> {
  if (!wantsJson(req)) return res.redirect(303, '/account#sign-in-methods-title');
  const user = await ownUser(req);
  const { authenticators, devices } = await signInMethods(req.ctx, user);
  res.set('Cache-Control', 'no-store').json({ authenticators, two_step_enabled: user.two_step_enabled, devices });
}

/** POST /account/authenticators/passkey/options: what `navigator.credentials.create` takes. */
export async function passkeyRegistrationOptions(req: Request, res: Response): Promise<void> {
  const user = await ownUser(req);
  const own = (await listAuthenticatorsOfUser(req.ctx.scope, user.id)).filter(isPasskey);
  const name = fullName(languageOf(req), user) || user.email;
  const making = { purpose: 'enroll', browser: browserSecret(req, res), user: { id: user.id, email: user.email, name } } as const;
  res.set('Cache-Control', 'no-store').json(await creationOptions(req.ctx, { ...making, exclude: own }));
}

const addRefusals = {
  refused: { status: 422, code: 'passkey_refused' },
  expired: { status: 410, code: 'challenge_expired' },
  passkey_exists: { status: 409, code: 'passkey_exists' },
  too_many: { status: 409, code: 'too_many' },
} as const satisfies Record<string, StepRefusal>;

/** POST /account/authenticators/passkey: adds the passkey that the browser has made. Having it is a proof. */
export const addOwnPasskey = (web: Web) => async (req: Request, res: Response) => {
  const { id: session_id, user_id } = sessionOf(req);
  const [name, problems] = nameIn(req, deviceWords(req.get('user-agent') ?? null) ?? defaultName('passkey'));
  const wrongName = refuseFields({ name: problems });
  if (wrongName) return refuseOnAccountPage(web, req, res, wrongName);
  const making = { purpose: 'enroll', browser: browserSecret(req, res), user_id } as const;
  const verdict = await verifyNewPasskey(req.ctx, { ...making, host: req.headers.host, credential: credentialIn(req) });
  if (verdict.outcome !== 'verified') return refuseOnAccountPage(web, req, res, addRefusals[verdict.outcome]);
  const added = await addPasskey(req.ctx, { user_id, passkey: verdict.passkey, name, origin: originOf(req), basis: { session_id } });
  if (added.outcome === 'not_found') throw notFound();
  if (added.outcome !== 'added') return refuseOnAccountPage(web, req, res, addRefusals[added.outcome]);
  await takeStep(req, res, { method: 'enrolled', proof: added.proof }, { current: sessionOf(req) });
  done(req, res, 'passkey', { authenticator: authenticatorDocument(added.authenticator) }, 201);
};

/** POST /account/authenticators/recovery_codes: a new set, which is shown this once. */
export const renewOwnRecoveryCodes = (web: Web) => async (req: Request, res: Response) => {
  const codes = await makeRecoveryCodes(req.ctx, sessionOf(req).user_id, originOf(req));
  if (codes === null) return refuseOnAccountPage(web, req, res, { status: 409, code: 'factor_missing' });
  showRecoveryCodes(web, req, res, { status: 201, codes });
};

/** POST /account/authenticators/{id}/rename */
export const renameOwn = (web: Web) => async (req: Request, res: Response) => {
  const name = bodyText(req, 'name').trim();
  const problems = refuseFields({ name: shortNameProblems(name) });
  if (problems) return refuseOnAccountPage(web, req, res, problems);
  const renamed = await renameAuthenticator(req.ctx, { user_id: sessionOf(req).user_id, id: pathId(req) }, name);
  if (!renamed) throw notFound();
  done(req, res, 'renamed', { authenticator: authenticatorDocument(renamed) });
};

/** POST /account/authenticators/{id}/remove: 409 when nothing else signs the person in, or the policy wants a factor. */
export const removeOwn = (web: Web) => async (req: Request, res: Response) => {
  const key = { user_id: sessionOf(req).user_id, id: pathId(req) };
  if (!isUuid(key.id)) throw notFound();
  const { outcome } = await transaction(req.ctx, (tx) => removeAuthenticator(tx, key, { by: 'user', origin: originOf(req) }));
  if (outcome === 'not_found') throw notFound();
  if (outcome === 'removed') return done(req, res, 'removed');
  const text = outcome === 'last_way_in' ? message('refusal.last_way_in') : undefined;
  await refuseOnAccountPage(web, req, res, { status: 409, code: outcome, ...(text !== undefined && { text }) });
};

const switches: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([[true, true], [false, false], ['true', true], ['false', false]]); // prettier-ignore

/** POST /account/two_step: switches the second step on or off. */
export const switchOwnTwoStep = (web: Web) => async (req: Request, res: Response) => {
  const enabled = switches.get((req.body as Record<string, unknown>)['enabled']);
  if (enabled === undefined) throw refusalError({ status: 422, code: 'invalid_value', fields: { enabled: ['invalid_value'] } });
  const verdict = await setTwoStep(req.ctx, sessionOf(req).user_id, enabled, originOf(req));
  if (verdict.outcome === 'not_found') throw notFound();
  if (verdict.outcome !== 'changed') return refuseOnAccountPage(web, req, res, { status: 409, code: verdict.outcome });
  const { two_step_enabled, recovery_codes } = verdict;
  if (recovery_codes !== null) return showRecoveryCodes(web, req, res, { status: 200, body: { two_step_enabled }, codes: recovery_codes });
  done(req, res, two_step_enabled ? 'two_step_on' : 'two_step_off', { two_step_enabled });
};

/** POST /account/devices/{id}/forget: that browser is asked for the second step again. */
export async function forgetDevice(req: Request, res: Response): Promise<void> {
  const id = pathId(req);
  const forgotten = isUuid(id) ? await transaction(req.ctx, (tx) => forgetDevices(tx, sessionOf(req).user_id, id)) : 0;
  if (forgotten === 0) throw notFound();
  done(req, res, 'device');
}

/** POST /account/devices/forget_all */
export async function forgetAllDevices(req: Request, res: Response): Promise<void> {
  const forgotten = await transaction(req.ctx, (tx) => forgetDevices(tx, sessionOf(req).user_id));
  done(req, res, 'devices', { forgotten });
}
