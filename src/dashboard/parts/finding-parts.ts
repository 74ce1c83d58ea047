import type { Tone } from './tone.js';

/** What the doctor found: one sentence, what follows from it, and the command or variable that mends it, to be copied. `id` is unique on the page. */
export type Finding = {
  readonly id: string;
  readonly tone: Tone;
  readonly word: string;
  readonly check: string;
  readonly finding: string;
  readonly why: string | null;
  readonly fix: string | null;
  /** A command that only looks closer, to be copied. */
  readonly look: string | null;
  readonly path: string | null;
};

/** What is wrong, the worst first. */
export type FindingsPart = { readonly kind: 'findings'; readonly items: readonly Finding[] };

/** What was looked at and is well, or could not be looked at. */
export type WellPart = {
  readonly kind: 'well';
  readonly title: string;
  readonly items: readonly Pick<Finding, 'tone' | 'word' | 'check' | 'finding'>[];
};
