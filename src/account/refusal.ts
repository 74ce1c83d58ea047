import type { Request } from 'express';
import { PageError, RateLimitedError } from '../errors.js';
import { fieldErrorTexts, messageOf } from '../http/pages/error-texts.js';
import { wordsOf } from '../http/pages/words.js';
import type { CodeVerdict } from '../domain/passcodes/passcodes.js';
import { message, type Message } from '../lib/languages/messages.js';

/** Why a form is refused: pages show it beside the fields, JSON as `{error, error_description, fields}` (specification 4.2.1). */
export type StepRefusal = {
  readonly status: number;
  readonly code: string;
  /** Stable codes by field, as JSON shows them. */
  readonly fields?: Readonly<Record<string, readonly string[]>>;
  readonly extra?: Readonly<Record<string, unknown>>;
  /** Instead of the sentence for the code. */
  readonly text?: Message;
  /** Seconds; with status 429. */
  readonly retry_after?: number;
};

export function refusalError(refusal: StepRefusal): Error {
  if (refusal.retry_after !== undefined) return new RateLimitedError(refusal.retry_after);
  const { status, code, fields, extra } = refusal;
  return new PageError(status, code, refusal.text ?? messageOf(code), { ...(fields && { fields }), ...extra });
}

/** The refusal as a page's `errors`: a sentence by field, or one under `form`. */
export function pageErrors(req: Request, refusal: StepRefusal): Record<string, string> {
  const words = wordsOf(req);
  if (!refusal.fields) return { form: words.say(refusal.text ?? messageOf(refusal.code)) };
  return fieldErrorTexts(words, refusal.fields, { password_min_length: req.ctx.environment.password_min_length });
}

/** 422 for fields with problems, or null when there are none; `error` is the first problem's code. */
export function refuseFields(problems: Readonly<Record<string, readonly string[]>>): StepRefusal | null {
  const fields = Object.fromEntries(Object.entries(problems).filter(([, codes]) => codes.length > 0));
  const first = Object.values(fields)[0]?.[0];
  return first === undefined ? null : { status: 422, code: first, fields };
}

/** Why a code wasn't taken (specification 4.4); the same words for registration and recovery. */
export function emailCodeRefusal(verdict: Exclude<CodeVerdict, { outcome: 'right' }>): StepRefusal {
  if (verdict.outcome === 'expired') return { status: 410, code: 'code_expired' };
  if (verdict.outcome === 'budget_used_up') {
    const { retry_after } = verdict;
    const minutes = Math.ceil(retry_after / 60);
    const text = message('refusal.code_budget', { minutes });
    return { status: 429, code: 'rate_limited', text, retry_after };
  }
  const { attempts_left } = verdict;
  return { status: 422, code: 'invalid_code', fields: { code: ['invalid_code'] }, extra: { attempts_left } };
}
