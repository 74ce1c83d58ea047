import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { argon2id, hash as argon2Hash, needsRehash as argon2NeedsRehash } from 'argon2';
import { noDeadline, boundedBy, type Deadline } from '../../lib/deadline.js';
import type { Tracer } from '../../platform/spans/tracer.js';
import { isCommonPassword } from './common-passwords.js';
import { createHashingQueue, type HashingTurn } from './hashing-queue.js';
import { createCheckTimes, ownCost, workOf, type CheckTimes, type PasswordCost } from './hash-work.js';
import { createBcryptVerifier } from './bcrypt.js';
import { readableHash, readHash, type FirebaseKey, type ReadHash } from './hash-formats.js';

/** Longest password, in Unicode code points after NFC. */
export const MAX_PASSWORD_LENGTH = 128;
/** Longest password text that is looked at, in UTF-16 units as received: 128 code points never need more, even decomposed. */
const MAX_PASSWORD_UNITS = 1024;

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const parameters = { type: argon2id, ...ownCost, parallelism: 1 } as const;

const kindAt = ({ memoryCost, timeCost }: PasswordCost) => `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parameters.parallelism}$`;

/** A hash of the kind that no password matches. */
const decoyOf = (kind: string) => readHash(`${kind}${'A'.repeat(22)}$${'A'.repeat(43)}`) as ReadHash;

/** What hashes of Firebase are computed with where their own key is gone, or there is none: as long as theirs. */
const decoyKey: FirebaseKey = { signer_key: Buffer.alloc(64).toString('base64'), salt_separator: 'Bw==' };

/** The text that is hashed: exactly what was typed, in NFC (RFC 8265 section 4.2.2), so that two keyboards give one password. */
const typed = (password: string) => Buffer.from(password.normalize('NFC'), 'utf8');

const tooLong = (password: string) => password.length > MAX_PASSWORD_UNITS;

const unpadded = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');

/** Hashes into the PHC form with its parameters in the order of the reference implementation, which other software expects. */
async function argon2Phc(text: Buffer, { memoryCost, timeCost }: PasswordCost): Promise<string> {
  const salt = randomBytes(16);
  const digest = await argon2Hash(text, { ...parameters, memoryCost, timeCost, salt, raw: true });
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parameters.parallelism}$${unpadded(salt)}$${unpadded(digest)}`;
}

/** Threads of libuv's pool, unless `UV_THREADPOOL_SIZE` makes more. */
const poolThreads = 4;

/**
 * How many passwords each of `processes` hashes at once on a machine of so many processors, one at least: a processor stays for everything else, and a
 * thread of the pool for signatures, which would otherwise wait for all hashes before them.
 */
export const hashesAtOnce = (processes = 1, processors = availableParallelism()): number =>
  Math.max(1, Math.min(Math.floor((processors - 1) / processes), poolThreads - 1));

/** Compares passwords with hashes, and notes the time that each comparison takes. */
function createComparison(times: CheckTimes) {
  const bcrypt = createBcryptVerifier();
  async function compare(hash: ReadHash, text: Buffer, firebase: FirebaseKey | null): Promise<boolean> {
    const started = performance.now();
    const right = await hash.matches(text, { bcrypt, firebase });
    times.note(hash, performance.now() - started);
    return right;
  }

  /** Whether it is the password as typed or as received: one check, two where normalising changes it. */
  return async function compareBoth(hash: ReadHash, password: string, firebase: FirebaseKey | null): Promise<boolean> {
    const normalised = typed(password);
    if (await compare(hash, normalised, firebase)) return true;
    const received = Buffer.from(password, 'utf8');
    return !received.equals(normalised) && (await compare(hash, received, firebase));
  };
}

/** What a check may need beside the hash: the key of one from Firebase, and the decoy to compute where there is no hash; one of our own unless given. */
export type CheckAids = { readonly firebase?: FirebaseKey | null; readonly decoy?: string | null };

/** The result of a check: whether the password was right, and when its turn began (`performance.now()`). */
export type PasswordCheckResult = { readonly right: boolean; readonly began: number };

/** Commands and tests, which no environment's people wait for. */
const ownTurn: HashingTurn = { environment_id: '', priority: 'stranger' };

/**
 * Hashes and checks passwords. Hashing takes a processor for some 25 ms on the few threads that signing needs too, so only
 * `concurrency` (default: {@link hashesAtOnce}) run at once, environments that wait share the time, and at most `queueMax` (default 200) of each priority
 * wait in each, for `maxWaitMs` (default 5 s) at most, or until the caller's deadline. Whoever sets a password has proven something before, and goes
 * before strangers. `cost` is what the operator chose (PASSWORD_HASH), `earlierCost`
 * what hashes may still cost that were made before; `pause` is for tests.
 * @throws {OverloadedError} from every function that hashes, when its turn doesn't come in time
 */
export function createPasswordHasher({
  concurrency = hashesAtOnce(),
  queueMax = 200,
  maxWaitMs = 5_000,
  cost = parameters,
  earlierCost = ownCost,
  pause = setTimeout,
  tracer = null,
}: {
  readonly concurrency?: number;
  readonly queueMax?: number;
  readonly maxWaitMs?: number;
  readonly cost?: PasswordCost;
  readonly earlierCost?: PasswordCost;
  readonly pause?: (ms: number) => Promise<unknown>;
  readonly tracer?: Tracer | null;
} = {}) {
  const { memoryCost, timeCost } = cost;
  const hashing = { ...parameters, memoryCost, timeCost };
  const queue = createHashingQueue({ concurrency, queueMax, maxWaitMs }, tracer);
  const times = createCheckTimes();
  const compareBoth = createComparison(times);
  const ownDecoy: ReadHash = { ...decoyOf(kindAt(cost)), work: workOf(cost) };
  const earlierWork = kindAt(cost) === kindAt(earlierCost) ? null : workOf(earlierCost);

  /**
   * Checks a password against a stored hash, or, for nobody (null), against a decoy, which takes the same turn and is never right: one
   * hash is computed, two where normalising changes the text, and no other. An overlong text is refused unhashed, whoever it is for; a hash that can't be
   * read belongs to no password, and costs a decoy. A hash imported from a system that didn't normalise is tried as received too.
   */
  async function check(
    phc: string | null,
    password: string,
    turn: HashingTurn = ownTurn,
    { firebase = null, decoy = null }: CheckAids = {},
  ): Promise<PasswordCheckResult> {
    if (tooLong(password)) return { right: false, began: performance.now() };
    const real = phc === null ? null : readableHash(phc);
    const computed = real ?? (decoy === null ? null : readableHash(decoy)) ?? ownDecoy;
    return queue.run(turn, async () => {
      const began = performance.now();
      const right = await compareBoth(computed, password, firebase ?? decoyKey);
      return { right: right && real !== null, began };
    });
  }

  return {
    /** For a caller that takes several turns: all of them together take no longer than one may. */
    patience: (deadline: Deadline): Deadline => boundedBy(deadline, maxWaitMs),

    queue: () => queue.state(),

    /** What all checks so far have computed, in hashes of ours. */
    spent: () => times.spent(),

    /**
     * The argon2id PHC string to store.
     * @throws {RangeError} for a text that {@link passwordProblems} would refuse as too long
     */
    async hash(password: string, turn: Omit<HashingTurn, 'priority'> = ownTurn): Promise<string> {
      if (tooLong(password)) throw new RangeError('password too long to hash');
      return queue.run({ ...turn, priority: 'known' }, () => argon2Phc(typed(password), hashing));
    },

    check,

    /** `check` for whoever needs no more than whether the password is right. */
    verify: async (phc: string, password: string, turn?: HashingTurn): Promise<boolean> => (await check(phc, password, turn)).right,

    /**
     * Holds a refusal back until a check of the dearest imported hash of the environment (`work`; null without any) would have ended, counted from when
     * the turn of the one that was made began: its time doesn't tell whose hash was checked. Waits without computing, and in no turn. Where the operator
     * chose another cost there is always something to wait for: accounts have hashes of the earlier one until they sign in, addresses of nobody a decoy of the new.
     */
    async hold({ began }: PasswordCheckResult, work: number | null, deadline: Deadline = noDeadline): Promise<void> {
      if (work === null && earlierWork === null) return;
      const until = began + Math.min(maxWaitMs, times.ceilingMs(Math.max(work ?? 0, earlierWork ?? 0, workOf(cost))));
      const left = Math.min(until - performance.now(), deadline.left());
      if (left > 0) await pause(left);
    },

    /** Whether a hash was made here, when somebody chose the password or signed in with it, rather than imported. */
    isOwn: (phc: string): boolean => [cost, ownCost].some((one) => phc.startsWith(kindAt(one))),

    /** True when a right password should be hashed anew: other parameters, another argon2 variant, bcrypt. */
    needsRehash: (phc: string): boolean => !phc.startsWith('$argon2id$') || argon2NeedsRehash(phc, hashing),
  };
}

export type PasswordHasher = ReturnType<typeof createPasswordHasher>;

/** The stable codes of what is wrong with a new password, in the order in which they are reported; {@link passwordProblems} finds all but the last. */
export type PasswordProblem =
  | 'password_too_short'
  | 'password_too_long'
  | 'password_common'
  | 'password_contains_email'
  | 'password_contains_name'
  | 'password_breached';

/** What a password may not be made of. */
export type PasswordOwner = {
  readonly email?: string | null;
  readonly first_name?: string | null;
  readonly last_name?: string | null;
  readonly min_length?: number;
};

const fold = (text: string) => text.normalize('NFKC').toLowerCase();

/** True when the password is little more than one of the words: what is left beside it would be too short by itself. */
const madeOf = (password: string, words: readonly string[], min_length: number): boolean =>
  words.some((word) => [...word].length >= 3 && password.includes(word) && [...password.replaceAll(word, '')].length < min_length);

function emailWords(email: string): string[] {
  const whole = fold(email.trim());
  const local = whole.slice(0, Math.max(0, whole.lastIndexOf('@')));
  return [whole, local, local.replace(/[._+-]/g, '')];
}

/**
 * Everything that is wrong with a new password by itself; empty when it may be used, unless it is known from a breach (`hashNewPassword`). Length counts Unicode code points after NFC, from
 * `min_length` (8) to 128; there are no composition rules (NIST SP 800-63B section 3.1.1.2). It may not hold the whole email address, nor
 * consist of the local part or a name with fewer than `min_length` characters beside it, nor be a common password.
 */
export function passwordProblems(password: string, { email, first_name, last_name, min_length = 8 }: PasswordOwner): PasswordProblem[] {
  if (tooLong(password)) return ['password_too_long'];
  const length = [...password.normalize('NFC')].length;
  if (length > MAX_PASSWORD_LENGTH) return ['password_too_long'];
  const problems: PasswordProblem[] = [];
  if (length < min_length) problems.push('password_too_short');
  else if (isCommonPassword(password)) problems.push('password_common');
  const folded = fold(password);
  const mail = email ? emailWords(email) : [];
  if ((mail[0] && folded.includes(mail[0])) || madeOf(folded, mail, min_length)) problems.push('password_contains_email');
  const [first, last] = [fold(first_name?.trim() ?? ''), fold(last_name?.trim() ?? '')];
  if (madeOf(folded, [first, last, `${first} ${last}`, first + last, last + first], min_length)) problems.push('password_contains_name');
  return problems;
}
