import { named } from './named.js';

/** The parameters of a query or form body: flat names, and what was sent more than once. */
export type Parameters = {
  /** The value, or undefined when it is absent or empty (RFC 6749 3.1: a parameter without a value counts as omitted). */
  get(name: string): string | undefined;
  /** Names that were sent more than once. */
  readonly repeated: ReadonlySet<string>;
  /** The first value of every name. */
  readonly all: Readonly<Record<string, string>>;
};

const maxNames = 200;

/** Passwords are hashed as typed and stored nowhere, so a NUL, which no text column holds, may be part of one (ASVS 6.2.8). */
export const isPasswordField = (name: string): boolean => name === 'password' || name === 'current_password';

/**
 * Reads `application/x-www-form-urlencoded` text. Names are taken as they stand: `a[]` and `a[b]` mean nothing special. Null when
 * there are too many, or when a value holds a NUL or isn't valid UTF-8.
 */
export function parseParameters(text: string): Parameters | null {
  const all: Record<string, string> = named();
  const repeated = new Set<string>();
  let count = 0;
  for (const [name, value] of new URLSearchParams(text)) {
    count += 1;
    if (count > maxNames || name.includes('\0') || (value.includes('\0') && !isPasswordField(name)) || value.includes('\ufffd'))
      return null;
    if (all[name] !== undefined) repeated.add(name);
    else all[name] = value;
  }
  return { all, repeated, get: (name) => all[name] || undefined };
}

export const noParameters: Parameters = { all: named(), repeated: new Set(), get: () => undefined };

/** Parameters that were read elsewhere: each once. */
export function parametersOf(values: Readonly<Record<string, string>>): Parameters {
  const all: Record<string, string> = named({ ...values });
  return { all, repeated: new Set(), get: (name) => all[name] || undefined };
}
