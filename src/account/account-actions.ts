import type { Request, Response } from 'express';
import { transaction } from '../domain/context.js';
import { unlinkIdentity } from '../domain/connections/identities.js';
import { changePassword } from '../domain/credentials/password-change.js';
import { updateProfile } from '../domain/users/profile.js';
import { endSessions } from '../domain/sessions/sessions.js';
import { endProviderToken } from '../db/tables/provider_tokens.js';
import { findSession } from '../db/tables/sessions.js';
import { PageError } from '../errors.js';
import { clearSessionCookie, sessionOf } from '../http/auth/browser-session.js';
import { cookieDeviceOf, keepDevice } from '../http/auth/device-cookie.js';
import { errorMessage } from '../http/pages/error-texts.js';
import { wantsJson } from '../http/request/form.js';
import { isLanguageSwitch } from '../http/pages/language-switch.js';
import { originOf } from '../http/pages/mail-origin.js';
import { profileFields } from '../http/pages/page-models.js';
import type { Web } from '../http/web.js';
import { isUuid } from '../lib/random.js';
import { renderAccount } from './account-page.js';
import { done } from './done.js';
import { bodyText } from './fields.js';
import { readProfileFields } from './profile-fields.js';
import { refusalError, refuseFields, type StepRefusal } from './refusal.js';
import { userDocument } from './user-document.js';
import { message } from '../lib/languages/messages.js';

const notFound = () => new PageError(404, 'not_found', errorMessage('not_found'));
const pathParameter = (req: Request, name: string): string => String(req.params[name] ?? '');

/** POST /account/profile: changes what the body names, and nothing that a person may not edit. */
export const changeOwnProfile = (web: Web) => async (req: Request, res: Response) => {
  const { changes, problems } = readProfileFields(req.body as Record<string, unknown>);
  const typed = () => Object.fromEntries(profileFields.filter((name) => Object.hasOwn(req.body as object, name)).map((name) => [name, bodyText(req, name)])); // prettier-ignore
  if (isLanguageSwitch(req, res)) return renderAccount(web, req, res, { typed: typed() });
  const refusal = refuseFields(problems);
  if (refusal) {
    if (wantsJson(req)) throw refusalError(refusal);
    return renderAccount(web, req, res, { refusal, typed: typed() });
  }
  const user = await updateProfile(req.ctx, sessionOf(req).user_id, changes);
  if (!user) throw notFound();
  done(req, res, 'profile', { user: userDocument(user) });
};

const emptyFields = (req: Request, names: readonly string[]) =>
  refuseFields(Object.fromEntries(names.map((name) => [name, bodyText(req, name) === '' ? ['required'] : []])));

/** POST /account/password (specification 4.5.4): 401 for a wrong current password, 422 for a new one that won't do. */
export const changeOwnPassword = (web: Web) => async (req: Request, res: Response) => {
  const session = sessionOf(req);
  const refuse = async (refusal: StepRefusal): Promise<void> => {
    if (wantsJson(req)) throw refusalError(refusal);
    await renderAccount(web, req, res, { refusal });
  };
  const empty = emptyFields(req, ['current_password', 'password']);
  if (empty) return refuse(empty);
  const input = {
    current_password: bodyText(req, 'current_password'),
    password: bodyText(req, 'password'),
    origin: originOf(req),
    device: cookieDeviceOf(req),
  };
  const verdict = await changePassword(req.ctx, session, input);
  switch (verdict.outcome) {
    case 'wrong':
      return refuse({ status: 401, code: 'invalid_password', fields: { current_password: ['invalid_password'] } });
    case 'no_password':
      return refuse({ status: 422, code: 'no_password', text: message('refusal.no_password') });
    case 'refused':
      return refuse(refuseFields({ password: verdict.problems }) as StepRefusal);
    case 'changed':
      keepDevice(req, res, session.user_id);
      return done(req, res, 'password', { user: userDocument(verdict.user) });
  }
};

/** POST /account/sessions/{id}/revoke: ends one of one's own sessions; this one too, which signs out. */
export async function revokeSession(req: Request, res: Response): Promise<void> {
  const id = pathParameter(req, 'id');
  const own = sessionOf(req);
  const session = isUuid(id) ? await findSession(req.ctx.scope, id) : null;
  if (session?.user_id !== own.user_id) throw notFound();
  await transaction(req.ctx, (tx) => endSessions(tx, { id }, 'revoked'));
  if (id !== own.id) return done(req, res, 'session');
  clearSessionCookie(req, res);
  if (!wantsJson(req)) return res.redirect(303, '/login');
  res.set('Cache-Control', 'no-store').json({});
}

/** POST /account/sessions/revoke_others: ends all of one's sessions but this one. */
export async function revokeOtherSessions(req: Request, res: Response): Promise<void> {
  const { id, user_id } = sessionOf(req);
  const ended = await transaction(req.ctx, (tx) => endSessions(tx, { user_id, except: id }, 'revoked'));
  done(req, res, 'sessions', { revoked: ended.length });
}

/** POST /account/identities/{id}/unlink: unlinks an account at a provider; 409 when it is the only way to sign in. */
export const unlink = (web: Web) => async (req: Request, res: Response) => {
  const identity_id = pathParameter(req, 'id');
  const outcome = isUuid(identity_id)
    ? await unlinkIdentity(req.ctx, { user_id: sessionOf(req).user_id, identity_id, origin: originOf(req) })
    : 'not_found';
  if (outcome === 'not_found') throw notFound();
  if (outcome === 'unlinked') return done(req, res, 'identity');
  const refusal = { status: 409, code: 'last_way_in', text: message('refusal.last_way_in_identity') };
  if (wantsJson(req)) throw refusalError(refusal);
  await renderAccount(web, req, res, { refusal });
};

/** POST /account/provider_tokens/{id}/revoke: ends what a client has of an account at a provider. */
export async function revokeProviderToken(req: Request, res: Response): Promise<void> {
  const id = pathParameter(req, 'id');
  const { ctx } = req;
  const now = ctx.clock.now();
  const ended = isUuid(id) && (await transaction(ctx, (tx) => endProviderToken(tx.scope, { id, user_id: sessionOf(req).user_id, now })));
  if (!ended) throw notFound();
  done(req, res, 'provider_token');
}
