import { createPasswordHasher } from '../../src/domain/passwords/passwords.js';
import type { Context } from '../../src/domain/context.js';
import { fixtures } from './target.js';

/** Gives everybody a hash that costs next to nothing. */
export async function cheapenPasswords(ctx: Context): Promise<void> {
  const hasher = createPasswordHasher({ cost: { memoryCost: 8, timeCost: 1 } });
  const password_hash = await hasher.hash(fixtures.person.password);
  await ctx.db.knex('users').whereNotNull('password_hash').update({ password_hash });
}

/** Loaded into the service before it starts: it leaves cheap hashes as they are, where it would make dear ones of them at a sign-in. */
export const keepCheapHashes = ['--import', new URL('./keep-hashes.js', import.meta.url).href];
