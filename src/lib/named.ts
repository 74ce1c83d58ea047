/**
 * A table of values by name that holds its own names alone: `constructor`, `toString` and whatever else every object inherits are names that
 * it hasn't got, and `__proto__` is a name like any other. Every `Record<string, ...>` of the sources is made here (test/tidy.test.ts), since the
 * name that is looked up sooner or later comes from a request.
 */
export function named<T>(entries: Readonly<Record<string, T>> = {}): Record<string, T> {
  const table = Object.create(null) as Record<string, T>;
  for (const name of Object.keys(entries)) table[name] = entries[name] as T;
  return table;
}

/** The own property of an object that isn't made by `named` (parsed JSON, a row); undefined when it is absent or only inherited. */
export const own = <T extends object>(object: T | null | undefined, name: string): T[keyof T] | undefined =>
  object !== null && object !== undefined && Object.hasOwn(object, name) ? object[name as keyof T] : undefined;
