import type { Request } from 'express';
import { credentialOf } from '../http/confirmation/confirmation.js';
import { safeReturnTo } from '../http/request/return-to.js';
import { own } from '../lib/named.js';

/** A text of the form or JSON body; anything else counts as empty. */
export function bodyText(req: Request, name: string): string {
  const value = own(req.body as Record<string, unknown> | undefined, name);
  return typeof value === 'string' ? value : '';
}

/** The path to go back to, if the body names one of ours. */
export const bodyReturnTo = (req: Request): string | null => safeReturnTo((req.body as Record<string, unknown> | undefined)?.['return_to']);

/** The credential in the body: an object in JSON, its text in a form; undefined without one, null when it can't be read. */
export function credentialIn(req: Request): unknown {
  const value = own(req.body as Record<string, unknown> | undefined, 'credential');
  return value === undefined || value === '' ? undefined : credentialOf(value);
}

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const maxNameLength = 255;

/** What is wrong with a name; `text` must be trimmed. */
export function nameProblems(text: string, longest = maxNameLength): string[] {
  if (text === '') return ['required'];
  if ([...text].length > longest) return ['too_long'];
  return control.test(text) ? ['invalid_value'] : [];
}

/** What is wrong with the name of an authenticator, of 1 to 100 characters; `text` must be trimmed. */
export const shortNameProblems = (text: string): string[] => nameProblems(text, 100);
