import type { Request, Response } from 'express';
import { ApiError } from '../errors.js';
import { readInput } from '../management/input.js';
import { actOnRecord, changeRelationship, requirePermissions, updateRecord } from '../management/operations.js';
import { notFound } from '../management/problems.js';
import { placeOf } from './presentation.js';
import { recordOf, relatedOf, resourceOf, type Shown } from './records.js';
import { ask, type Question } from './resource-actions.js';
import type { Tools } from './resource-forms.js';
import { idOf, recordFrame } from './resource-record.js';
import { users } from './pages/users.js';
import { sentenceOf } from './texts.js';
import { words } from './values.js';

/** POST /dashboard/users/{id}/roles: the user then holds exactly the roles that were ticked. */
export function saveRoles(tools: Tools) {
  return async (req: Request, res: Response): Promise<void> => {
    const { call } = req;
    const { record } = await recordOf(call, 'users', idOf(req));
    const linkage = Object.keys(req.form.all)
      .filter((name) => name.startsWith('roles:'))
      .map((name) => ({ type: 'role', id: name.slice('roles:'.length) }));
    const place = `${placeOf('users', record.id)}/roles`;
    try {
      const expected = [Number(req.form.get('_version') ?? 0)];
      await changeRelationship(call, resourceOf(call, 'users'), record.id, 'roles', 'replace', linkage, { expected });
    } catch (error) {
      const first = error instanceof ApiError ? error.errors[0] : undefined;
      if (!first || first.code === 'insufficient_scope') throw error;
      const look = { req, now: call.ctx.clock.now() };
      const { dangers: _dangers, ...frame } = recordFrame(look, users, record, [], 'roles');
      const tab = users.tabs?.find((one) => one.name === 'roles');
      if (!tab) throw notFound();
      const form =
        first.status === 412
          ? 'Somebody changed this user meanwhile. These are the roles now: tick them again.'
          : sentenceOf(first, undefined);
      return tools.render(
        req,
        res,
        { ...frame, errors: { form }, parts: await tab.parts(look, record) },
        first.status === 412 ? 409 : first.status,
      );
    }
    res.redirect(303, `${place}?done=updated`);
  };
}

const endSessions = (id: string): Question => ({
  title: 'End all sessions',
  text: ['This person is signed out everywhere at once, and so are the clients that it signed in to. Tokens with offline access go on.'],
  action: `${placeOf('users', id)}/end_sessions`,
  button: 'End all sessions',
  danger: true,
  guarded: false,
  typed: null,
  back: `${placeOf('users', id)}/sessions`,
});

/** GET /dashboard/users/{id}/end_sessions: asks. */
export function endUserSessionsPage(tools: Tools) {
  return async (req: Request, res: Response): Promise<void> => {
    requirePermissions(req.call, 'sessions:write');
    const { record } = await recordOf(req.call, 'users', idOf(req));
    await ask(tools, users, req, res, record, endSessions(record.id));
  };
}

/** POST /dashboard/users/{id}/end_sessions: revokes the active sessions, each as the API's action does. */
export async function endUserSessions(req: Request, res: Response): Promise<void> {
  const { call } = req;
  requirePermissions(call, 'sessions:write');
  const { record } = await recordOf(call, 'users', idOf(req));
  const resource = resourceOf(call, 'sessions');
  for (;;) {
    const { records } = await relatedOf(call, 'users', record.id, 'sessions', { filters: { status: 'active' }, size: 100 });
    if (records.length === 0) break;
    for (const session of records) await actOnRecord(call, resource, session.id, 'revoke');
  }
  // Whoever ends all of their own sessions is no longer signed in.
  res.redirect(303, `${placeOf('users', record.id)}/sessions?done=revoked`);
}

const verifyEmail = (record: Shown): Question => ({
  title: 'Mark the address as proven',
  text: [
    `From then on ${words(record.attributes['email'])} counts as this person’s own: applications are told so, and accounts at providers with the same address can be connected to this one.`,
    'Do it only if you know that the address belongs to this person. A password reset by mail proves it, too.',
  ],
  action: `${placeOf('users', record.id)}/verify_email`,
  button: 'Mark as proven',
  danger: false,
  guarded: false,
  typed: null,
});

/** GET /dashboard/users/{id}/verify_email: asks. */
export function verifyEmailPage(tools: Tools) {
  return async (req: Request, res: Response): Promise<void> => {
    requirePermissions(req.call, 'users:write');
    const { record } = await recordOf(req.call, 'users', idOf(req));
    await ask(tools, users, req, res, record, verifyEmail(record));
  };
}

/** POST /dashboard/users/{id}/verify_email: what PATCH of `email_verified` does. */
export async function markEmailVerified(req: Request, res: Response): Promise<void> {
  const { call } = req;
  const resource = resourceOf(call, 'users');
  const id = idOf(req);
  const document = { data: { type: resource.type, id, attributes: { email_verified: true } } };
  await updateRecord(call, resource, id, readInput(document, resource, id));
  res.redirect(303, `${placeOf('users', id)}?done=email_verified`);
}
