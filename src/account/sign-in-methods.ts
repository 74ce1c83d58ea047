import type { Request } from 'express';
import { enrollable } from '../domain/authenticators/enrollable.js';
import { rpIdOf } from '../domain/authenticators/relying-party.js';
import { userHandleOf } from '../domain/authenticators/webauthn-input.js';
import type { Context } from '../domain/context.js';
import { hasFactor, type FactorState } from '../domain/authenticators/next-step.js';
import { isPasskey, listAuthenticatorsOfUser, type AuthenticatorRow } from '../db/tables/authenticators.js';
import { listDevicesOfUser, type DeviceRow } from '../db/tables/devices.js';
import { countRecoveryCodesLeft } from '../db/tables/recovery_codes.js';
import { passkeyPart } from '../http/auth/passkey-part.js';
import type { PageSignInMethods } from '../http/pages/sign-in-methods.js';
import { deviceIn } from '../http/pages/device-words.js';
import { wordsIn, wordsOf, type Words } from '../http/pages/words.js';
import { defaultName } from '../domain/authenticators/enrolment.js';

/** An authenticator as its owner sees it, on pages and as JSON; never a key, a secret or a digest. */
export const authenticatorDocument = (row: AuthenticatorRow, codes_left: number | null = null) => ({
  id: row.id,
  kind: row.kind,
  name: row.name,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  ...(row.kind === 'passkey' && { backed_up: row.backed_up ?? false, transports: row.transports ?? [] }),
  ...(row.kind === 'recovery_codes' && { codes_left }),
});

/** A browser that skips the second step, as its owner sees it. */
const deviceDocument = (device: DeviceRow, words: Words) => ({
  id: device.id,
  device: deviceIn(words, device.user_agent),
  ip_address: device.ip_address,
  created_at: device.created_at.toISOString(),
  last_used_at: device.last_used_at.toISOString(),
  expires_at: device.expires_at.toISOString(),
});

/** Reads what signs the user in beside a password and a provider. No statement for somebody who has none of it. */
export async function signInMethods(ctx: Context, user: FactorState, words: Words = wordsIn('en')) {
  if (user.authenticator_kinds.length === 0) return { rows: [], authenticators: [], devices: [] };
  const rows = await listAuthenticatorsOfUser(ctx.scope, user.id);
  const codes_left = user.authenticator_kinds.includes('recovery_codes') ? await countRecoveryCodesLeft(ctx.scope, user.id) : null;
  const devices = await listDevicesOfUser(ctx.scope, user.id, ctx.clock.now());
  return {
    rows,
    authenticators: rows.map((row) => authenticatorDocument(row, codes_left)),
    devices: devices.map((device) => deviceDocument(device, words)),
  };
}

/** The name that a factor got by itself is in the language of whoever reads it. */
function shownName({ t }: Words, kind: AuthenticatorRow['kind'], name: string): string {
  if (kind === 'recovery_codes' || name !== defaultName(kind)) return name;
  return t(kind === 'passkey' ? 'methods.passkey' : 'methods.app');
}

/** The section of the account page; null where nothing can be added and nothing is there. */
export async function pageSignInMethods(req: Request, user: FactorState): Promise<PageSignInMethods | null> {
  const { ctx } = req;
  const words = wordsOf(req);
  const can_add = enrollable(ctx.environment);
  const { rows, authenticators, devices } = await signInMethods(ctx, user, words);
  if (!can_add.passkey && !can_add.totp && authenticators.length === 0) return null;
  const rp_id = rpIdOf(ctx.environment);
  const credential_ids = rows.filter(isPasskey).filter((row) => row.rp_id === rp_id).map((row) => row.credential_id); // prettier-ignore
  return {
    passkey: can_add.passkey ? passkeyPart(req, '/account/authenticators/passkey/options', null) : null,
    totp: can_add.totp,
    authenticators: authenticators.map(({ id, kind, name, created_at, last_used_at, codes_left = null }) => {
      return { id, kind, name: shownName(words, kind, name), created_at, last_used_at, codes_left };
    }),
    has_factor: hasFactor(user),
    two_step_enabled: user.two_step_enabled,
    devices,
    signal: { rp_id, user_id: userHandleOf(user.id), credential_ids },
  };
}
