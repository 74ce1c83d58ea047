import { deleteBrowserLockout, findBrowserLockout, recordBrowserFailure } from '../db/tables/browser_lockouts.js';
import { digest, equalDigests } from '../lib/digest.js';
import { randomToken } from '../lib/random.js';
import type { Context } from './context.js';

/** How long a browser stays known after its last sign-in; browsers keep no cookie for longer. */
export const knownForSeconds = 400 * 86_400;
/** Accounts that one browser is known to. */
const maxAccounts = 5;
const failuresKeptMs = 86_400_000;

/** A browser that has signed in to an account before. `id` is random, the same at every sign-in. */
export type KnownBrowser = { readonly id: string };

const entryShape = /^([0-9a-z]{6,8})\.([\w-]{43})\.([\w-]{43})$/;

/** What stands behind an entry: nobody but this service can make one, and it is for this account and no other. */
const proofOf = (ctx: Context, email_key: string, since: string, id: string): string =>
  ctx.sealer.digest('known browser', `${ctx.environment.id} ${since} ${id} ${email_key}`).toString('base64url');

const entriesOf = (shown: string | null): string[] => (shown === null ? [] : shown.split('~').slice(0, maxAccounts));

type Found = KnownBrowser & { readonly entry: string };

function find(ctx: Context, shown: string | null, email_key: string): Found | null {
  const now = Math.floor(ctx.clock.now().getTime() / 1000);
  for (const entry of entriesOf(shown)) {
    const [, since = '', id = '', proof = ''] = entryShape.exec(entry) ?? [];
    if (id === '' || parseInt(since, 36) + knownForSeconds <= now) continue;
    if (equalDigests(digest(proofOf(ctx, email_key, since, id)), digest(proof))) return { id, entry };
  }
  return null;
}

/**
 * The browser, if it has signed in to the account of the address before; null for a stranger.
 * @param shown what its cookie says, whoever wrote it
 */
export function knownBrowserOf(ctx: Context, shown: string | null, email_key: string): KnownBrowser | null {
  return find(ctx, shown, email_key);
}

/** What the cookie says once the browser has signed in to the account too: the latest first, the oldest of more than five is forgotten. */
export function rememberAccount(ctx: Context, shown: string | null, email_key: string): string {
  const known = find(ctx, shown, email_key);
  const id = known?.id ?? randomToken('');
  const since = Math.floor(ctx.clock.now().getTime() / 1000).toString(36);
  const others = entriesOf(shown).filter((entry) => entry !== known?.entry && entryShape.test(entry));
  return [`${since}.${id}.${proofOf(ctx, email_key, since, id)}`, ...others].slice(0, maxAccounts).join('~');
}

/** A known browser whose wrong passwords are counted apart from those of strangers. */
export type TrustedBrowser = {
  /** Counts a wrong password. */
  failed(): Promise<void>;
  /** Forgets those that were counted. */
  succeeded(): Promise<void>;
};

/** The known browser, unless it guessed so often that it is a stranger for `lockout_lifetime`: then null. */
export async function trustedBrowser(ctx: Context, browser: KnownBrowser | null): Promise<TrustedBrowser | null> {
  if (browser === null) return null;
  const browser_digest = digest(browser.id);
  const now = ctx.clock.now();
  const counted = await findBrowserLockout(ctx.scope, browser_digest);
  if (counted?.locked_until != null && counted.locked_until > now) return null;
  const { lockout_threshold: threshold, lockout_lifetime } = ctx.environment;
  const locked_until = new Date(now.getTime() + lockout_lifetime * 1000);
  const expires_at = new Date(locked_until.getTime() + failuresKeptMs);
  return {
    failed: () => recordBrowserFailure(ctx.scope, browser_digest, { threshold, locked_until, expires_at }),
    succeeded: async () => (counted ? deleteBrowserLockout(ctx.scope, browser_digest) : undefined),
  };
}
