import type { Context } from '../context.js';

const slotMs = 300_000;

/** A few seconds of difference between the replicas' clocks: what one hands out in its next slot already, the others take. */
const skewMs = 5_000;

type Surroundings = Pick<Context, 'crypto' | 'environment' | 'clock'>;

const slotAt = (ms: number) => Math.floor(ms / slotMs);
const valueOf = ({ environment }: Surroundings, slot: number) => `${environment.id} ${slot}`;

/** The nonce that proofs may bear now (RFC 9449 8). It follows from the environment and the time, so every replica knows it and none stores it. */
export const currentNonce = (ctx: Surroundings): string =>
  ctx.crypto.sealer.digest('dpop nonce', valueOf(ctx, slotAt(ctx.clock.now().getTime()))).toString('base64url');

/** When a nonce of ours is too old; null for one that is, and for what is none. Those of the current and the previous five minutes are good. */
export function nonceEnd(ctx: Surroundings, nonce: string): Date | null {
  const presented = Buffer.from(nonce, 'base64url');
  const now = ctx.clock.now().getTime();
  const slots = [...new Set([slotAt(now), slotAt(now - slotMs), slotAt(now + skewMs)])];
  const slot = slots.find((one) => ctx.crypto.sealer.isDigest('dpop nonce', valueOf(ctx, one), presented));
  return slot === undefined ? null : new Date((slot + 2) * slotMs);
}
