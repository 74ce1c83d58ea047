import type { SessionProof } from './proofs.js';

/**
 * The authentication context classes that sign-ins here reach (OIDC Core 2, `acr`), lowest first: one factor; a password or a provider and a
 * code; phishing-resistant (OpenID Connect Extended Authentication Profile ACR Values 1.0). A higher one satisfies a demand for a lower one.
 */
export const classes = ['1', '2', 'phr'] as const;
export type AuthenticationClass = (typeof classes)[number];

export const isClass = (value: unknown): value is AuthenticationClass => (classes as readonly unknown[]).includes(value);

/** Whether a sign-in of the class does where the other is demanded; null demands nothing. */
export const satisfies = (reached: AuthenticationClass, demanded: AuthenticationClass | null): boolean =>
  demanded === null || classes.indexOf(reached) >= classes.indexOf(demanded);

/** What a token says of a sign-in. */
export type AuthenticationContext = {
  readonly acr: AuthenticationClass;
  /** RFC 8176, and `pop` of the Extended Authentication Profile. */
  readonly amr: string[];
  /** The oldest proof that the class rests on. */
  readonly auth_time: Date;
  /** False: a provider among them doesn't say when it was. */
  readonly auth_time_known: boolean;
};

type Means = (proof: SessionProof) => boolean;

const password: Means = ({ method }) => method === 'password' || method === 'provider';
const code: Means = ({ method }) => method === 'totp' || method === 'recovery_code';
const passkey: Means = ({ method }) => method === 'passkey';
const firstStep: Means = (proof) => password(proof) || passkey(proof) || proof.method === 'email';

/** The ways to each class: one proof of each means. What comes by mail raises nothing (NIST SP 800-63B-4 3.1.3.1). */
const ways: Readonly<Record<AuthenticationClass, readonly (readonly Means[])[]>> = {
  '1': [[firstStep]],
  '2': [[password, code], [({ asserted }) => asserted === '2']],
  phr: [[(proof) => passkey(proof) && proof.user_verified === true], [password, passkey], [({ asserted }) => asserted === 'phr']],
};

const timeOf = (proof: SessionProof) => new Date(proof.at).getTime();
const latest = (proofs: readonly SessionProof[]) =>
  proofs.reduce<SessionProof | null>((best, proof) => (best === null || timeOf(proof) >= timeOf(best) ? proof : best), null);

/** The proofs that the class rests on, by the way whose oldest proof is the latest; null when no way leads there. */
function restsOn(proofs: readonly SessionProof[], acr: AuthenticationClass): readonly SessionProof[] | null {
  const found = ways[acr]
    .map((way) => way.map((means) => latest(proofs.filter(means))))
    .filter((used): used is SessionProof[] => used.every((proof) => proof !== null));
  const age = (used: readonly SessionProof[]) => Math.min(...used.map(timeOf));
  return found.reduce<readonly SessionProof[] | null>((best, used) => (best === null || age(used) > age(best) ? used : best), null);
}

const methodNames: Readonly<Record<SessionProof['method'], readonly string[]>> = {
  password: ['pwd'],
  email: ['otp'],
  totp: ['otp'],
  recovery_code: ['otp'],
  passkey: ['pop', 'user'],
  provider: [],
  device: [],
};

/** The methods of all proofs in their order; `mfa` exactly when the stated class is above the lowest. */
function amrOf(proofs: readonly SessionProof[], acr: AuthenticationClass): string[] {
  const names = new Set(proofs.flatMap(({ method }) => methodNames[method]));
  if (acr !== '1') names.add('mfa');
  return [...names];
}

function contextOf(proofs: readonly SessionProof[], acr: AuthenticationClass, used: readonly SessionProof[]): AuthenticationContext {
  const oldest = used.reduce((one, other) => (timeOf(other) < timeOf(one) ? other : one));
  return {
    acr,
    amr: amrOf(proofs, acr),
    auth_time: new Date(oldest.at),
    auth_time_known: used.every((proof) => proof.at_unknown !== true),
  };
}

/**
 * The highest class that the proofs reach.
 * @throws {Error} when they prove nobody: no first step is among them
 */
export function reachedBy(proofs: readonly SessionProof[]): AuthenticationContext {
  for (const acr of [...classes].reverse()) {
    const used = restsOn(proofs, acr);
    if (used) return contextOf(proofs, acr, used);
  }
  throw new Error('these proofs sign nobody in');
}

/**
 * What a token states where the client asked for classes (`acr_values`, the `acr` claim): the highest of them that is reached, for clients
 * compare for equality; else the class reached. Values that are no class of ours count for nothing.
 */
export function statedFor(proofs: readonly SessionProof[], requested: readonly string[]): AuthenticationContext {
  const reached = reachedBy(proofs);
  const stated = [...classes].reverse().find((acr) => requested.includes(acr) && satisfies(reached.acr, acr));
  if (stated === undefined || stated === reached.acr) return reached;
  // A higher class satisfies this one, by the proofs that it rests on itself when none of the ways to this one was taken.
  const used = restsOn(proofs, stated);
  return used ? contextOf(proofs, stated, used) : { ...reached, acr: stated, amr: amrOf(proofs, stated) };
}

/** Whether the proofs reach the class; false for proofs that sign nobody in. */
export const reaches = (proofs: readonly SessionProof[], demanded: AuthenticationClass | null): boolean =>
  proofs.some(firstStep) && satisfies(reachedBy(proofs).acr, demanded);

/** Whether a second step was taken, or need not be: a second factor was used, or a code by mail as the second step, or the browser is remembered. */
export function isSecondStepDone(proofs: readonly SessionProof[]): boolean {
  if (!proofs.some(firstStep)) return false;
  if (reachedBy(proofs).acr !== '1') return true;
  const has = (method: SessionProof['method']) => proofs.some((proof) => proof.method === method);
  const afterMail = has('email') && proofs.some((proof) => code(proof) || passkey(proof));
  return afterMail || has('device') || proofs.some(({ suffices, second_step }) => suffices === true || second_step === true);
}
