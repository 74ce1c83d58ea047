import type { ApiErrorObject } from '../../errors.js';
import { errorTexts } from '../../http/pages/error-texts.js';
import { named } from '../../lib/named.js';
import type { FieldKind } from './page-parts.js';
import { durationWords } from './values.js';

/** What a page says after something was done, by the `done` of its address. */
export const doneTexts: Readonly<Record<string, string>> = named({
  created: 'Created.',
  updated: 'Saved.',
  deleted: 'Deleted.',
  blocked: 'Blocked. All sessions have ended.',
  unblocked: 'Unblocked.',
  revoked: 'Revoked.',
  file_received: 'Uploaded. Nothing has been imported yet.',
  import_started: 'Started. The import runs in the background.',
  stream_tested: 'A test was sent. “Last attempt” shows the receiver’s response.',
  redelivered: 'Redelivering. The list shows the result.',
  nothing_selected: 'Nothing was selected.',
  nothing_to_change: 'Nothing would change for those selected.',
  nothing_to_redeliver: 'Nothing in this period had failed or was being retried.',
  test_mail_sent: 'We’re sending a test with sample values to your address.',
  mail_sent: 'We’re sending an email with a link and a code.',
  email_verified: 'Email marked as verified.',
  authenticators_reset: 'Reset. All sessions have ended, and the person was notified by email.',
  tokens_revoked: 'Revoked. Tokens issued to this client so far no longer work.',
  deletion_cancelled: 'The account won’t be deleted.',
  devices_forgotten: 'Forgotten. Each browser asks for the second factor again.',
  invited: 'Created. We’re sending an email with a link to set a password.',
  invitation_sent: 'We’re sending the invitation again, with a new link.',
  activated: 'This key signs from now on.',
  deactivated: 'The key no longer verifies anything.',
  checked: 'Checked again.',
  already_sent: 'This form was already submitted; nothing was done twice.',
});

const limitOf = (detail: string): string | null => /[<>]=?\s*(-?\d+)/.exec(detail)?.[1] ?? null;

const sentence = (text: string): string => {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
};

/** Some names of many, in words: `a, b, c and 4 more`. */
export function listed(names: readonly string[], most = 3): string {
  if (names.length <= most + 1) return [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' and ');
  return `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
}

/** What a form says beside a field for a refusal of the Management operations. */
export function sentenceOf(error: ApiErrorObject, submitted: string | undefined, kind?: FieldKind): string {
  const { code, detail } = error;
  const bound = limitOf(detail);
  const limit = bound !== null && kind === 'duration' ? durationWords(Number(bound)) : bound;
  if (code === 'scope_escalation') {
    const required = (error.meta?.['required'] as readonly string[] | undefined) ?? [];
    return `You can’t grant more than you have. Ask someone with the permission ${listed(required)}.`;
  }
  if (code === 'required' || ((code === 'too_short' || code === 'invalid_format' || code === 'invalid_type') && submitted === ''))
    return errorTexts.required;
  if (code === 'invalid_type') return 'Enter a whole number.';
  if (code === 'too_short' && limit !== null)
    return `${/array|item/.test(detail) ? 'Choose or enter' : 'Enter'} at least ${limit}${/string|character/.test(detail) ? ' characters' : ''}.`;
  if (code === 'too_long' && limit !== null)
    return /number|int/.test(detail) ? `Enter at most ${limit}.` : `At most ${limit} characters or entries fit here.`;
  if (/^invalid (option|input|string)/i.test(detail)) return errorTexts.invalid_value;
  return /^(must|needs|has|is|can) /.test(detail) ? sentence(`This ${detail}`) : sentence(detail);
}
