import type { Context } from '../context.js';
import { forgetDevices } from './remembered-browsers.js';
import { endSignIns } from './half-sign-ins.js';

/** Ends what rests on a user's password and factors beside sessions: half sign-ins and remembered browsers. Call it in the transaction of the change. */
export async function endTrust(tx: Context, user_id: string): Promise<void> {
  await endSignIns(tx, user_id);
  await forgetDevices(tx, user_id);
}
