import type { Environment } from '../environment.js';
import type { Origin } from '../origin.js';

/** A password that was right just now, by what it is looked up by and by its hash; never the password itself. */
export type ProvenPassword = {
  readonly environment: Environment;
  readonly user_id: string;
  readonly password_hash: string;
  readonly key: string;
  readonly origin: Origin;
  readonly at: number;
};

/** What waits at most, all environments together: sign-ins beyond that are looked up another time. */
const maxWaiting = 200;

/** Right passwords that this process is to look up among leaked ones, in the order of their sign-ins. */
export type ProvenPasswords = {
  /** False where too many wait: it is dropped. */
  add(password: ProvenPassword): boolean;
  next(): ProvenPassword | undefined;
};

export function createProvenPasswords(): ProvenPasswords {
  const waiting: ProvenPassword[] = [];
  return { add: (password) => waiting.length < maxWaiting && waiting.push(password) > 0, next: () => waiting.shift() };
}
