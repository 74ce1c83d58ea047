import { Secret, TOTP } from 'otpauth';
import { activateTotpOf, startTotp } from '../../src/domain/authenticators/enrolment.js';
import type { Context } from '../../src/domain/context.js';

const origin = { ip_address: null, user_agent: null, request_id: null };

/** The code that an authenticator app with the secret shows at the time. */
export const totpAt = (secret: string, at: Date): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at.getTime() });

/** Gives the user an authenticator app, as the account page does: two-step is on from then on. The code of the present step is spent. */
export async function giveTotp(ctx: Context, user_id: string): Promise<{ id: string; secret: string; recovery_codes: string[] }> {
  const started = await startTotp(ctx, { user_id, name: 'Phone' });
  if (started.outcome !== 'started') throw new Error(started.outcome);
  const { authenticator_id: id, secret } = started;
  const added = await activateTotpOf(ctx, user_id, { authenticator_id: id, code: totpAt(secret, ctx.clock.now()) }, origin);
  if (added.outcome !== 'added') throw new Error(added.outcome);
  return { id, secret, recovery_codes: added.recovery_codes ?? [] };
}
