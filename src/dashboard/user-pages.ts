import type { Request, Response } from 'express';
import { ApiError } from '../errors.js';
import { actOnRecord, changeRelationship, requirePermissions } from '../management/operations.js';
import { notFound } from '../management/problems.js';
import { placeOf } from './presentation.js';
import { recordOf, relatedOf, resourceOf } from './records.js';
import type { Tools } from './resource-forms.js';
import { idOf, recordFrame } from './resource-record.js';
import { users } from './pages/users.js';
import { sentenceOf } from './texts.js';

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
