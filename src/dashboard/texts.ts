import type { ApiErrorObject } from '../errors.js';
import { errorTexts } from '../http/pages/error-texts.js';
import { named } from '../lib/named.js';
import type { FieldKind } from './page-parts.js';
import { durationWords } from './values.js';
import { fill, sentences, terms } from './words.js';

/** What a page says after something was done, by the `done` of its address. */
export const doneTexts: Readonly<Record<string, string>> = named({
  created: sentences.created,
  updated: sentences.saved,
  deleted: sentences.deleted,
  blocked: sentences.blocked_all_sessions_have_ended,
  unblocked: sentences.unblocked,
  touched: sentences.the_last_activity_is_now,
  revoked: sentences.revoked,
  sent: sentences.on_its_way_reload_this,
  stream_tested: sentences.a_test_was_sent_last,
  redelivered: sentences.on_its_way_again_reload,
  nothing_to_redeliver: sentences.nothing_had_failed_for_good,
  test_mail_sent: sentences.test_mail_sent,
  mail_sent: sentences.a_mail_with_a_link,
  email_verified: sentences.email_marked_as_verified,
  authenticators_reset: sentences.reset_all_sessions_have_ended,
  tokens_revoked: sentences.tokens_revoked_until_now,
  devices_forgotten: sentences.forgotten_each_browser_takes_the,
  invited: sentences.created_a_mail_with_a,
  activated: sentences.this_key_signs_from_now,
  deactivated: sentences.the_key_no_longer_verifies,
  checked: sentences.checked_again,
  already_sent: sentences.this_form_was_sent_before,
});

const limitOf = (detail: string): string | null => /[<>]=?\s*(-?\d+)/.exec(detail)?.[1] ?? null;

const sentence = (text: string): string => {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
};

/** Some names of many, in words: `a, b, c and 4 more`. */
export function listed(names: readonly string[], most = 3): string {
  if (names.length <= most + 1) return [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' and ');
  return fill(terms.names_and_more, { value: names.slice(0, most).join(', '), value_2: names.length - most });
}

/** What a form says beside a field for a refusal of the Management operations. */
export function sentenceOf(error: ApiErrorObject, submitted: string | undefined, kind?: FieldKind): string {
  const { code, detail } = error;
  const bound = limitOf(detail);
  const limit = bound !== null && kind === 'duration' ? durationWords(Number(bound)) : bound;
  if (code === 'scope_escalation') {
    const required = (error.meta?.['required'] as readonly string[] | undefined) ?? [];
    return fill(sentences.this_would_reach_further_than, { value: listed(required) });
  }
  if (code === 'required' || ((code === 'too_short' || code === 'invalid_format' || code === 'invalid_type') && submitted === ''))
    return errorTexts.required;
  if (code === 'invalid_type') return sentences.enter_a_whole_number;
  if (code === 'too_short' && limit !== null)
    return fill(sentences.enter_at_least_limit_value, {
      enter: /array|item/.test(detail) ? terms.choose_or_enter : terms.enter,
      limit,
      value: /string|character/.test(detail) ? ' characters' : '',
    });
  if (code === 'too_long' && limit !== null)
    return /number|int/.test(detail)
      ? fill(sentences.enter_at_most_limit, { limit })
      : fill(sentences.at_most_limit_characters_or, { limit });
  if (/^invalid (option|input|string)/i.test(detail)) return errorTexts.invalid_value;
  return /^(must|needs|has|is|can) /.test(detail) ? sentence(fill(terms.this_detail, { detail })) : sentence(detail);
}
