/** A code that was told to the client, and what came of presenting it. */
export type Code = {
  readonly code: string;
  readonly verifier: string;
  readonly since: number;
  /** Kept for later, so that it is older than the fault. */
  readonly held: boolean;
  granted: number;
  refused: number;
  /** Presented without learning what came of it. */
  uncertain: number;
};

/** Refresh tokens of one sign-in, each the successor of the one before. */
export type Chain = {
  current: string;
  /** Whether `current` was presented without learning what came of it. */
  uncertain: boolean;
  /** Its grant was ended: a token whose use was uncertain came again too late. */
  ended: boolean;
  refreshedAt: number;
};

/** An access token that was told to the client; of a chain, or of a code alone. */
export type Token = { readonly value: string; readonly chain: Chain | null; readonly since: number };

/** What was asked and answered, from the outside. What was not answered with success may have happened or not. */
export type History = {
  readonly answers: { readonly kind: string; readonly at: number; readonly status: number }[];
  readonly codes: Code[];
  readonly tokens: Token[];
  readonly chains: Chain[];
  /** Every successor that was told for a refresh token. */
  readonly successors: Map<string, Set<string>>;
  /** People by id, told as created. */
  readonly users: Map<string, { readonly email: string; readonly since: number }>;
  /** What must never be, in words. */
  readonly violations: string[];
};

export const createHistory = (): History => ({
  answers: [],
  codes: [],
  tokens: [],
  chains: [],
  successors: new Map(),
  users: new Map(),
  violations: [],
});

/** No answer, or one that says that the service can't. */
export const failed = (status: number): boolean => status === 0 || status >= 500;

/** Answers since a moment, counted: `refused` said 503, `unanswered` got none, `broken` said another 5xx. */
export function count(history: History, since: number) {
  const statuses = history.answers.filter(({ at }) => at >= since).map(({ status }) => status);
  const of = (holds: (status: number) => boolean) => statuses.filter(holds).length;
  return {
    requests: statuses.length,
    refused: of((status) => status === 503),
    unanswered: of((status) => status === 0),
    broken: of((status) => status >= 500 && status !== 503),
  };
}
