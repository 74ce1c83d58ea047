import type { Request, Response } from 'express';
import { readInput } from '../management/input.js';
import { requirePermissions } from '../management/authorize.js';
import { actOnRecord, updateRecord } from '../management/operations.js';
import { recordPath } from './presentation.js';
import type { ResourceObject } from '../management/documents.js';
import { recordOf, relatedOf, resourceOf } from './resource-objects.js';
import { ask, type Question } from './resource-actions.js';
import { addressedId } from './resource-record.js';
import { users } from './pages/users.js';
import { words } from './values.js';
import type { Render } from './render.js';
import { fill, sentences, terms } from './words.js';

const endSessions = (id: string): Question => ({
  title: terms.end_all_sessions,
  text: [sentences.this_person_is_signed_out],
  verb: 'end_sessions',
  action: `${recordPath('users', id)}/end_sessions`,
  button: terms.end_all_sessions,
  danger: true,
  guarded: false,
  typed: null,
  back: `${recordPath('users', id)}/sessions`,
});

/** GET /dashboard/users/{id}/end_sessions: asks. */
export function endUserSessionsPage(render: Render) {
  return async (req: Request, res: Response): Promise<void> => {
    requirePermissions(req.call, 'sessions:write');
    const { record } = await recordOf(req.call, 'users', addressedId(req));
    await ask(render, users, req, res, record, endSessions(record.id));
  };
}

/** POST /dashboard/users/{id}/end_sessions: revokes the active sessions, each as the API's action does. */
export async function endUserSessions(req: Request, res: Response): Promise<void> {
  const { call } = req;
  requirePermissions(call, 'sessions:write');
  const { record } = await recordOf(call, 'users', addressedId(req));
  const resource = resourceOf(call, 'sessions');
  for (;;) {
    const { records } = await relatedOf(call, 'users', record.id, 'sessions', { filters: { status: 'active' }, size: 100 });
    if (records.length === 0) break;
    for (const session of records) await actOnRecord(call, resource, session.id, 'revoke');
  }
  // Whoever ends all of their own sessions is no longer signed in.
  res.redirect(303, `${recordPath('users', record.id)}/sessions?done=revoked`);
}

const verifyEmail = (record: ResourceObject): Question => ({
  title: terms.mark_email_as_verified,
  text: [fill(sentences.from_then_on_email_counts, { email: words(record.attributes['email']) }), sentences.do_it_only_if_you],
  verb: 'verify_email',
  action: `${recordPath('users', record.id)}/verify_email`,
  button: terms.mark_as_verified,
  danger: false,
  guarded: false,
  typed: null,
});

/** GET /dashboard/users/{id}/verify_email: asks. */
export function verifyEmailPage(render: Render) {
  return async (req: Request, res: Response): Promise<void> => {
    requirePermissions(req.call, 'users:write');
    const { record } = await recordOf(req.call, 'users', addressedId(req));
    await ask(render, users, req, res, record, verifyEmail(record));
  };
}

/** POST /dashboard/users/{id}/verify_email: what PATCH of `email_verified` does. */
export async function markEmailVerified(req: Request, res: Response): Promise<void> {
  const { call } = req;
  const resource = resourceOf(call, 'users');
  const id = addressedId(req);
  const document = { data: { type: resource.type, id, attributes: { email_verified: true } } };
  await updateRecord(call, resource, id, () => readInput(document, resource, id));
  res.redirect(303, `${recordPath('users', id)}?done=email_verified`);
}
