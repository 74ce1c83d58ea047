import type { AttemptLimits } from '../../db/tables/passcodes.js';

export const codeLength = 6;
/** Digits of codes that can't be guessed even across many codes. */
export const longCodeLength = 10;

/** The hour in which wrong codes are counted: it begins with the first of them. */
export const budgetWindowMs = 3_600_000;

/**
 * Wrong six-digit codes that an environment takes in a window, whatever its settings: the hour between two moments touches two windows at most, so that all
 * who guess get 80 tries in it, and one chance in 12,500 (specification 4.4.5). Whoever mistypes spends from it too.
 */
export const environmentBudget = 40;

/** Wrong codes that an address takes in a window; beyond them its six-digit codes are over, unless they are bound to a browser that hasn't guessed. */
const addressBudget = 20;

/** From here on new codes are long. */
export const halfOf = (budget: number): number => Math.ceil(budget / 2);

/** The limits of a try at this moment. */
export const attemptLimits = (otp_max_attempts: number, now: Date): AttemptLimits => ({
  max_attempts: otp_max_attempts,
  max_wrong: addressBudget,
  budget: environmentBudget,
  since: new Date(now.getTime() - budgetWindowMs),
});
