import type { Request, Response } from 'express';
import { confirmByForm, confirmPath, type ConfirmationNeeded } from '../../../http/confirmation/ask-to-confirm.js';
import { demandedOf, heldNames, isStale } from '../../../http/confirmation/confirmation.js';
import { provePath, waysToProve, type WaysToProve } from '../../../http/confirmation/proof-ways.js';
import { errorTexts } from '../../../http/pages/error-texts.js';
import { provenBy, viewerOf } from '../viewer.js';
import type { Field, Part } from '../page-parts.js';
import { named } from '../../../lib/named.js';

const name = heldNames.password;

/** What a page asks of somebody who must confirm that it is them: a field of its form, or parts in the form's place. */
export type ProofFields = { readonly fields: Field[]; readonly instead: readonly Part[] | null };

const passwordField = (email: string, error: string | null): Field => ({
  kind: 'password',
  name,
  label: 'Your password',
  hint: `It has been a while since you signed in. Confirm that you’re ${email}.`,
  optional: false,
  value: '',
  chosen: [],
  choices: [],
  error,
  attributes: { autocomplete: 'current-password', maxlength: 1024 },
});

/** In the place of a form that a password doesn't confirm: the page that does, a linked connection, or a password by mail. */
function elsewhere(email: string, { methods, enroll, connections, by_mail }: WaysToProve, back: string): readonly Part[] {
  const reason = `It has been a while since you signed in. Confirm that you’re ${email}.`;
  const page =
    methods.length > 0 || enroll
      ? [{ label: 'Confirm your identity', path: `${confirmPath}?${new URLSearchParams({ return_to: back })}` }]
      : [];
  const ways = connections.map((connection) => ({
    label: `Sign in again with ${connection.display_name}`,
    path: provePath(connection, back),
  }));
  const byMail = by_mail && page.length === 0 ? [{ label: 'Set a password by email', path: '/password/forgot' }] : [];
  const links = [...page, ...ways, ...byMail].map((link, index) => ({
    ...link,
    variant: index === 0 ? ('primary' as const) : ('quiet' as const),
  }));
  const alone = by_mail ? 'Set a password by email, then sign in with it.' : 'Sign out, then sign in again.';
  const after = page.length > 0 || ways.length > 0 ? 'You’ll return to this page.' : alone;
  return [
    { kind: 'text', title: 'Confirm your identity first', paragraphs: [reason, after] },
    { kind: 'buttons', links, posts: [] },
  ];
}

/**
 * What shows anew that it is still the same person, on a page for something that takes a confirmation; nothing while the session is confirmed. A form
 * that was sent stays what it is: {@link confirmInForm} asks for what a password doesn't prove, and holds it.
 * @param back where somebody who proves it elsewhere returns to: the page's own address, to be had by GET
 */
export async function proofOf(req: Request, back: string, errors: Readonly<Record<string, string>> = named()): Promise<ProofFields> {
  const demanded = demandedOf(req);
  if (!isStale(req, demanded)) return { fields: [], instead: null };
  const ways = await waysToProve(req, demanded);
  const email = viewerOf(req).user_email;
  if (demanded === '1' && ways.password) return { fields: [passwordField(email, errors[name] ?? null)], instead: null };
  return { fields: [], instead: req.method === 'POST' ? null : elsewhere(email, ways, back) };
}

/** The error of the field that asks for the password; null: the page that asks for a proof must be shown. */
async function passwordError(req: Request, { failed, demanded }: ConfirmationNeeded): Promise<string | null> {
  if (demanded !== '1' || !(await waysToProve(req, demanded)).password) return null;
  if (failed === null) return errorTexts.required;
  return failed.answer.method === 'password' && failed.outcome.outcome === 'wrong' ? 'That isn’t your password.' : null;
}

/**
 * Confirms the session by the proof that a form bears.
 * @returns the error of the field that asks for the password, by its name; empty when the session is confirmed
 * @throws {ConfirmationNeeded} when another proof than a password is needed: the page that asks for it holds the form
 */
export async function confirmInForm(req: Request, res: Response): Promise<Record<string, string>> {
  const needed = await confirmByForm(req, res, demandedOf(req));
  if (needed === null) {
    req.call = { ...req.call, actor: { ...req.call.actor, ...provenBy(viewerOf(req)) } };
    return {};
  }
  const error = await passwordError(req, needed);
  if (error === null) throw needed;
  return { [name]: error };
}

export const passwordLabels = { [name]: 'Your password' };
