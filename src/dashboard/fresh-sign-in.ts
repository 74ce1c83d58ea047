import type { Request, Response } from 'express';
import { errorTexts } from '../http/pages/error-texts.js';
import { prove, isStale, proofField as name, provePath, waysToProve, type WaysToProve } from '../http/auth/fresh-sign-in.js';
import { viewerOf } from './gate.js';
import type { Field, Part } from './page-parts.js';
import { named } from '../lib/named.js';

/** What a page asks of somebody whose sign-in is too old: a field of its form, or, without a password, parts in the form's place. */
export type ProofFields = { readonly fields: Field[]; readonly instead: readonly Part[] | null };

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

/** For users without a password: links to sign in again through a linked connection, or to set a password by mail. */
function otherProof(email: string, { connections, by_mail }: WaysToProve, back: string): readonly Part[] {
  const ways = connections.map((connection, index) => ({
    label: `Sign in again with ${connection.display_name}`,
    path: provePath(connection, back),
    variant: index === 0 ? ('primary' as const) : ('quiet' as const),
  }));
  const said = `You signed in more than ten minutes ago, and no password signs this account in: show that it is still you, ${email}.`;
  const alone = by_mail ? 'Choose a password by mail, then sign in with it.' : 'Sign out, then sign in again.';
  const byMail = {
    label: 'Choose a password by mail',
    path: '/password/forgot',
    variant: ways.length > 0 ? ('quiet' as const) : ('primary' as const),
  };
  return [
    { kind: 'text', title: 'Sign in again first', paragraphs: [said, ways.length > 0 ? 'You come back to this page.' : alone] },
    { kind: 'buttons', links: by_mail ? [...ways, byMail] : ways, posts: [] },
  ];
}

/**
 * What shows anew that it is still the same person, on a page for something that needs a fresh sign-in; nothing while it is fresh.
 * @param back where somebody who signs in elsewhere returns to: the page's own address, to be had by GET
 */
export async function proofOf(req: Request, back: string, errors: Readonly<Record<string, string>> = named()): Promise<ProofFields> {
  if (!isStale(req)) return { fields: [], instead: null };
  const ways = await waysToProve(req);
  const email = viewerOf(req).user_email;
  if (ways.password) return { fields: [passwordField(email, errors[name] ?? null)], instead: null };
  return { fields: [], instead: otherProof(email, ways, back) };
}

/** Proves a fresh sign-in. @returns the error of the field that asks for the password, by its name; empty when the sign-in is proven */
export async function proveInForm(req: Request, res: Response): Promise<Record<string, string>> {
  const proof = await prove(req, res);
  if (proof === 'proven') {
    const { authenticated_at, auth_time_known } = viewerOf(req);
    req.call = { ...req.call, actor: { ...req.call.actor, proven_at: auth_time_known ? authenticated_at : null } };
    return {};
  }
  if (proof === 'wrong') return { [name]: 'This is not your password.' };
  return { [name]: (await waysToProve(req)).password ? errorTexts.required : 'Sign in again first.' };
}

/** Labels for the error summary. */
export const passwordLabels = { [name]: 'Your password' };
