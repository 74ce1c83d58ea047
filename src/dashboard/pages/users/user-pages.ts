import type { Request, Response } from 'express';
import { requirePermissions } from '../../../management/authorize.js';
import { perform } from '../../../management/write-steps.js';
import { recordPath } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { recordOf, relatedOf, resourceOf } from '../../parts/records/objects.js';
import { ask, type Question } from '../../parts/forms/actions.js';
import { addressedId } from '../../parts/records/record.js';
import { usersPresentation } from './users.js';
import { words } from '../../parts/values.js';
import type { Render } from '../../parts/render.js';
import { terms } from '../../parts/words.js';

const endSessions = (id: string): Question => ({
  title: terms.end_all_sessions,
  text: ['This person is signed out everywhere at once, and so are the clients that it signed in to. Offline tokens stay valid.'],
  verb: 'end_sessions',
  action: `${recordPath('users', id)}/end_sessions`,
  button: terms.end_all_sessions,
  danger: true,
  guarded: false,
  typed: null,
  back: `${recordPath('users', id)}/sessions`,
});

/** GET /dashboard/users/{id}/end_sessions: asks. */
export const endUserSessionsPage = (render: Render) => async (req: Request, res: Response) => {
  requirePermissions(req.call, 'sessions:write');
  const { record } = await recordOf(req.call, 'users', addressedId(req));
  await ask(render, usersPresentation, req, res, record, endSessions(record.id));
};

/** POST /dashboard/users/{id}/end_sessions: revokes the active sessions, each as the API's action does. */
export async function endUserSessions(req: Request, res: Response): Promise<void> {
  const { call } = req;
  requirePermissions(call, 'sessions:write');
  const { record } = await recordOf(call, 'users', addressedId(req));
  const resource = resourceOf(call, 'sessions');
  for (;;) {
    const { records } = await relatedOf(call, 'users', record.id, 'sessions', { filters: { status: 'active' }, size: 100 });
    if (records.length === 0) break;
    for (const session of records) await perform(call, { kind: 'act', resource, id: session.id, name: 'revoke' });
  }
  // Whoever ends all of their own sessions is no longer signed in.
  res.redirect(303, `${recordPath('users', record.id)}/sessions?done=revoked`);
}

const verifyEmail = (record: ResourceObject): Question => ({
  title: terms.mark_email_as_verified,
  text: [
    `From then on ${words(record.attributes['email'])} counts as verified: applications are told so, and accounts at other providers with the same address can be connected to this one.`,
    'Do this only if you know that the address belongs to this person; a password reset by email proves it, too. Sessions, the password, sign-in methods and application access from before are removed, and connected accounts must be reconnected. The person is notified by email.',
  ],
  verb: 'verify_email',
  action: `${recordPath('users', record.id)}/verify_email`,
  button: 'Mark as verified',
  danger: false,
  guarded: false,
  typed: null,
});

/** GET /dashboard/users/{id}/verify_email: asks. */
export const verifyEmailPage = (render: Render) => async (req: Request, res: Response) => {
  requirePermissions(req.call, 'users:write');
  const { record } = await recordOf(req.call, 'users', addressedId(req));
  await ask(render, usersPresentation, req, res, record, verifyEmail(record));
};

/** POST /dashboard/users/{id}/verify_email: what PATCH of `email_verified` does. */
export async function markEmailVerified(req: Request, res: Response): Promise<void> {
  const { call } = req;
  const resource = resourceOf(call, 'users');
  const id = addressedId(req);
  const document = { data: { type: resource.type, id, attributes: { email_verified: true } } };
  await perform(call, { kind: 'update', resource, id, document });
  res.redirect(303, `${recordPath('users', id)}?done=email_verified`);
}
