import type { Request, Response } from 'express';
import { enabledConnections } from '../core/connections.js';
import { listIdentities } from '../core/identities.js';
import { provePassword } from '../core/login.js';
import { findUser } from '../db/tables/users.js';
import { errorTexts } from '../http/error-texts.js';
import { originOf } from '../http/mail-origin.js';
import { addressKey, limitBy } from '../http/rate-limits.js';
import { signIn } from '../http/sign-in.js';
import type { Web } from '../http/web.js';
import { viewerOf } from './gate.js';
import type { Field, Part } from './page-parts.js';

const fresh = 10 * 60_000;
const name = 'current_password';

/** Whether the sign-in is too old for secrets, keys and deletions. */
export function isStale(req: Request): boolean {
  return req.ctx.clock.now().getTime() - viewerOf(req).authenticated_at.getTime() >= fresh;
}

/** What a page asks of somebody whose sign-in is too old: a field of its form, or, without a password, parts in the form's place. */
export type Proof = { readonly fields: Field[]; readonly instead: readonly Part[] | null };

function passwordField(email: string, error: string | null): Field {
  return {
    kind: 'password',
    name,
    label: 'Your password',
    hint: `You signed in more than ten minutes ago: show that it is still you, ${email}.`,
    optional: false,
    value: '',
    chosen: [],
    choices: [],
    error,
    attributes: { autocomplete: 'current-password', maxlength: 1024 },
  };
}

/** For those without a password: a fresh sign-in through a connection of theirs, or a password of their own by mail. */
async function otherProof(req: Request, back: string): Promise<readonly Part[]> {
  const identities = await listIdentities(req.call.ctx, viewerOf(req).user_id);
  const enabled = new Set((await enabledConnections(req.call.ctx)).map(({ id }) => id));
  const ways = identities
    .filter(({ connection_id }) => enabled.has(connection_id))
    .map(({ connection_id, connection_display_name }, index) => ({
      label: `Sign in again with ${connection_display_name}`,
      path: `/auth/sso/${connection_id}?${new URLSearchParams({ prompt: 'login', return_to: back }).toString()}`,
      variant: index === 0 ? ('primary' as const) : ('quiet' as const),
    }));
  const said = `You signed in more than ten minutes ago, and this account has no password: show that it is still you, ${viewerOf(req).user_email}.`;
  const onward = ways.length > 0 ? 'You come back to this page.' : 'Choose a password by mail, then sign in with it.';
  const byMail = {
    label: 'Choose a password by mail',
    path: '/password/forgot',
    variant: ways.length > 0 ? ('quiet' as const) : ('primary' as const),
  };
  return [
    { kind: 'text', title: 'Sign in again first', paragraphs: [said, onward] },
    { kind: 'buttons', links: [...ways, byMail], posts: [] },
  ];
}

/**
 * What shows anew that it is still the same person, on a page for something that needs a fresh sign-in; nothing while it is fresh.
 * @param back where somebody who signs in elsewhere returns to: the page's own address, to be had by GET
 */
export async function proofOf(req: Request, back: string, errors: Readonly<Record<string, string>> = {}): Promise<Proof> {
  if (!isStale(req)) return { fields: [], instead: null };
  const user = await findUser(req.ctx.scope, viewerOf(req).user_id);
  if (user?.password_hash) return { fields: [passwordField(viewerOf(req).user_email, errors[name] ?? null)], instead: null };
  return { fields: [], instead: await otherProof(req, back) };
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
    if (password === undefined)
      return { [name]: (await proofOf(req, '/dashboard')).instead ? 'Sign in again first.' : errorTexts.required };
    for (const limit of [byAddress, byAccount]) {
      await new Promise<void>((resolve, reject) => void limit(req, res, (error?: unknown) => (error ? reject(error as Error) : resolve())));
    }
    const viewer = viewerOf(req);
    const user = await findUser(req.ctx.scope, viewer.user_id);
    const verdict = user && password.length <= 1024 ? await provePassword(req.ctx, user.email, password, originOf(req)) : null;
    if (verdict?.outcome !== 'ok' || verdict.user.id !== viewer.user_id) return { [name]: 'This is not your password.' };
    await signIn(req, res, viewer.user_id, ['pwd'], null, verdict.user.password_hash);
    const signed_in_at = req.ctx.clock.now();
    req.session = { ...viewer, authenticated_at: signed_in_at };
    req.call = { ...req.call, actor: { ...req.call.actor, signed_in_at } };
    return {};
  };
}

/** Labels for the error summary. */
export const passwordLabels = { [name]: 'Your password' };
