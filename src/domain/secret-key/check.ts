import { ConfigError } from '../../config.js';
import { listPrimaryPrivateKeys } from '../../db/tables/sealed_columns.js';
import { keyIdOf } from '../../lib/seal.js';
import type { Deps } from '../context.js';

type CheckDeps = Pick<Deps, 'db' | 'crypto'>;
type Unopened = { readonly slug: string; readonly key_id: string | null };

async function unopenedPrimaryKeys({ db: { knex }, crypto: { sealer } }: CheckDeps, defaultOnly: boolean): Promise<Unopened[]> {
  const primaries = await listPrimaryPrivateKeys(knex, { defaultOnly });
  return primaries.flatMap(({ slug, kid, private_sealed }) => {
    try {
      sealer.open(private_sealed, `signing_keys/${kid}`);
      return [];
    } catch {
      return [{ slug, key_id: keyIdOf(private_sealed) }];
    }
  });
}

/** Whether the signing key that the default environment signs with can be opened by this process. */
export const opensPrimaryKey = async (deps: CheckDeps): Promise<boolean> => (await unopenedPrimaryKeys(deps, true)).length === 0;

/**
 * Refuses to start with a SECRET_KEY that isn't this database's: nothing could be signed, and what is sealed from now on would be lost to
 * whoever starts with the right one.
 * @throws {ConfigError}
 */
export async function requirePrimaryKeys(deps: CheckDeps): Promise<void> {
  const [unopened] = await unopenedPrimaryKeys(deps, false);
  if (!unopened) return;
  const names = unopened.key_id === null ? '' : ` It names the key ${unopened.key_id}; given are ${deps.crypto.sealer.key_ids.join(', ')}.`;
  throw new ConfigError([
    `SECRET_KEY does not open the signing key of environment ${unopened.slug}.${names} Set the SECRET_KEY that this database was used with ` +
      '(with the embedded one: the content of secret.key in DATA_DIR), or add that key to SECRET_KEY_PREVIOUS',
  ]);
}
