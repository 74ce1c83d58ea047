import { deleteDevices, saveDevice, useDevice } from '../../db/tables/devices.js';
import { digest } from '../../lib/digest.js';
import { uuidv7 } from '../../lib/random.js';
import type { Context } from '../context.js';
import type { Origin } from '../origin.js';
import { proofNow, type SessionProof } from '../proofs/proofs.js';
import type { Device } from './known-browsers.js';

/** A digest per browser and user: the id in the browser's cookie is of 256 random bits. */
const digestOf = (device: Pick<Device, 'id'>, user_id: string) => digest(`remembered ${device.id} ${user_id}`);

/** Lets the browser skip the user's second step for `remember_device_lifetime`. Nothing happens where that is 0. */
export async function rememberBrowser(tx: Context, device: Pick<Device, 'id'>, user_id: string, origin: Origin): Promise<void> {
  const lifetime = tx.environment.remember_device_lifetime;
  if (lifetime === 0) return;
  const now = tx.clock.now();
  await saveDevice(tx.scope, {
    id: uuidv7(now.getTime()),
    user_id,
    browser_digest: digestOf(device, user_id),
    ip_address: origin.ip_address,
    user_agent: origin.user_agent?.slice(0, 512) ?? null,
    last_used_at: now,
    created_at: now,
    expires_at: new Date(now.getTime() + lifetime * 1000),
  });
}

/** The proof that the browser skips the user's second step; null when it doesn't, and where remembering is off. */
export async function rememberedProof(ctx: Context, device: Device | null, user_id: string): Promise<SessionProof | null> {
  if (device === null || ctx.environment.remember_device_lifetime === 0) return null;
  const now = ctx.clock.now();
  const id = await useDevice(ctx.scope, user_id, digestOf(device, user_id), now);
  return id === null ? null : proofNow('device', now, id);
}

/** Forgets all browsers of the user, or the one of the id; returns how many there were. */
export const forgetDevices = async (tx: Context, user_id: string, id?: string): Promise<number> =>
  deleteDevices(tx.scope, id === undefined ? { user_id } : { user_id, id });
