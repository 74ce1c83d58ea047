import { findWaitingDeviceCode, insertDeviceCode, type NewDeviceCode, type WaitingDeviceCode } from '../../db/tables/device_codes.js';
import { digest } from '../../lib/digest.js';
import { randomToken } from '../../lib/random.js';
import { newUserCode } from '../../lib/user-code.js';
import type { Context } from '../context.js';
import type { Origin } from '../origin.js';

/** Seconds for which a code may be answered and redeemed. */
export const deviceCodeLifetime = 600;
/** Seconds that a device has to wait between two questions, at first (RFC 8628 3.2). */
export const pollInterval = 5;

const tries = 5;

const maxUserAgent = 512;

/** What a device asks for: valid and granted to its client. */
export type DeviceRequest = Pick<
  NewDeviceCode,
  'client_id' | 'scope' | 'resource' | 'authorization_details' | 'organization' | 'request_id'
> & { readonly origin: Origin };

/**
 * Begins the wait for an answer: a device code of 256 random bits, and a user code that no other row has (RFC 8628 3.2). One statement.
 * @throws {Error} when no user code is free, which doesn't happen: there are 25 billion of them
 */
export async function startDeviceCode(
  ctx: Context,
  { origin, ...request }: DeviceRequest,
): Promise<{ device_code: string; user_code: string }> {
  const now = ctx.clock.now();
  const row = {
    ...request,
    ip_address: origin.ip_address,
    user_agent: origin.user_agent?.slice(0, maxUserAgent) ?? null,
    created_at: now,
    expires_at: new Date(now.getTime() + deviceCodeLifetime * 1000),
    interval_seconds: pollInterval,
  };
  for (let attempt = 1; attempt <= tries; attempt++) {
    const [device_code, user_code] = [randomToken('dc_'), newUserCode()];
    const user_code_digest = ctx.crypto.sealer.digest('user code', user_code);
    if (await insertDeviceCode(ctx.scope, { ...row, digest: digest(device_code), user_code_digest })) return { device_code, user_code };
  }
  throw new Error('no user code was free');
}

/** The waiting code that somebody typed, in the form of `readUserCode`; null when there is none. */
export const waitingDeviceCode = (ctx: Context, user_code: string): Promise<WaitingDeviceCode | null> =>
  findWaitingDeviceCode(ctx.scope, ctx.crypto.sealer.digests('user code', user_code), ctx.clock.now());
