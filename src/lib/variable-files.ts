import { named } from './named.js';

type Present = Readonly<Record<string, string | undefined>>;

/** Variables after what stands in files was put in their place. */
export type ResolvedVariables = { readonly values: Present; readonly problems: readonly string[] };

const suffix = '_FILE';

/** The name under which the path of a file stands that holds the value of the variable. */
export const fileVariable = (name: string): string => `${name}${suffix}`;

/**
 * Puts the content of files in the place of variables: `SECRET_KEY_FILE=/run/secrets/key` for `SECRET_KEY`, as container platforms mount secrets. Line ends
 * at the end aren't part of the value; an empty file is an absent variable.
 * @param secrets the variables that can stand in files; `read` returns a file's content or throws the system's error
 */
export function withFiles(present: Present, secrets: readonly string[], read: (path: string) => string): ResolvedVariables {
  const problems: string[] = [];
  const values = named(present);
  for (const name of secrets) {
    const path = present[fileVariable(name)];
    if (path === undefined) continue;
    if (present[name] !== undefined) {
      problems.push(`${name} and ${fileVariable(name)} must not both be set`);
      continue;
    }
    try {
      const content = read(path).replace(/[\r\n]+$/, '');
      if (content !== '') values[name] = content;
    } catch (error) {
      problems.push(`${fileVariable(name)} can not be read: ${(error as { code?: string }).code ?? 'unknown'} at ${path}`);
    }
  }
  return { values, problems };
}

/** The addresses, with commas between, with the password where they have a user and none. @throws nothing: what is no address stays as it is */
export const withPassword = (addresses: string | undefined, password: string | undefined): string | undefined =>
  password === undefined
    ? addresses
    : addresses
        ?.split(',')
        .map((address) => withItsPassword(address, password))
        .join(',');

function withItsPassword(address: string, password: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (url.password !== '') return address;
  url.password = encodeURIComponent(password);
  return url.href;
}
