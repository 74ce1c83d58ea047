import { Resolver } from 'node:dns/promises';

/** The texts of a name's TXT records; empty when there are none. @throws when the name servers can't be asked */
export type TxtLookup = (name: string) => Promise<string[]>;

const absent = new Set(['ENOTFOUND', 'ENODATA']);

/** Asks the machine's name servers, at most twice and for five seconds each. */
export const createTxtLookup = (): TxtLookup => async (name) => {
  const resolver = new Resolver({ timeout: 5_000, tries: 2 });
  try {
    return (await resolver.resolveTxt(name)).map((strings) => strings.join(''));
  } catch (error) {
    if (absent.has((error as { code?: string }).code ?? '')) return [];
    throw error;
  }
};
