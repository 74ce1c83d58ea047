import { countUserCodeGuess, findOldestUserCodeGuess, returnUserCodeGuess } from '../../db/tables/user_code_guesses.js';
import { digest } from '../../lib/digest.js';
import { noteSecurityEvent } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import type { Origin } from '../origin.js';

/** A code has 34 bits: at ten tries in ten minutes, with a thousand codes that wait, somebody guesses one in fifty years. */
const guessLimit = { limit: 10, seconds: 600 } as const;

export type Guesser = {
  readonly session_id: string;
  readonly user_id: string;
  /** The address, or the network that one subscriber has to itself. */
  readonly address: string;
  /** The wider network around that, with ten times its limit; null where there is none. */
  readonly network: string | null;
  readonly origin: Origin;
};

/** The windows of a guesser: of the session, the address and its network, each for itself. Counted in the database, whatever limits are switched off. */
const windowsOf = ({ session_id, address, network }: Guesser) => [
  { window: digest(`session ${session_id}`), limit: guessLimit },
  { window: digest(`address ${address}`), limit: guessLimit },
  ...(network === null ? [] : [{ window: digest(`address ${network}`), limit: { ...guessLimit, limit: guessLimit.limit * 10 } }]),
];

/**
 * Counts a try before the code is looked at, so that parallel guesses never get more than their number.
 * @returns null, or for how many seconds no more is taken (RFC 8628 5.1)
 */
export async function countGuess(ctx: Context, guesser: Guesser): Promise<number | null> {
  const now = ctx.clock.now();
  const counted: Buffer[] = [];
  for (const { window, limit } of windowsOf(guesser)) {
    if (await countUserCodeGuess(ctx.scope, window, limit, now)) {
      counted.push(window);
      continue;
    }
    for (const other of counted) await returnUserCodeGuess(ctx.scope, other);
    const oldest = (await findOldestUserCodeGuess(ctx.scope, window, limit, now)) ?? now;
    noteSecurityEvent(ctx, 'device.guesses_refused', {
      actor: { actor_kind: 'user', actor_id: guesser.user_id, display: null },
      target: { target_type: 'session', target_id: guesser.session_id },
      origin: guesser.origin,
    });
    return Math.max(1, Math.ceil((oldest.getTime() + guessLimit.seconds * 1000 - now.getTime()) / 1000));
  }
  return null;
}

/** Takes a counted try back, because it was right. */
export async function returnDeviceGuess(ctx: Context, guesser: Guesser): Promise<void> {
  for (const { window } of windowsOf(guesser)) await returnUserCodeGuess(ctx.scope, window);
}
