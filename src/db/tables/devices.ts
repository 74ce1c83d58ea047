import { remove, run, table, type Scope } from '../scope.js';

/** A row of `devices`: a browser in which the user skips the second step. */
export type DeviceRow = {
  environment_id: string;
  id: string;
  user_id: string;
  browser_digest: Buffer;
  ip_address: string | null;
  user_agent: string | null;
  last_used_at: Date;
  created_at: Date;
  expires_at: Date;
};

/** Remembers a browser for a user; one that is remembered already lasts anew. */
export async function saveDevice(scope: Scope, row: Omit<DeviceRow, 'environment_id'>): Promise<void> {
  scope.touched.add('devices');
  const { id: _id, created_at: _created, browser_digest: _browser, user_id: _user, ...renewed } = row;
  await scope
    .knex('devices')
    .insert({ ...row, environment_id: scope.environment_id })
    .onConflict(['environment_id', 'browser_digest'])
    .merge(renewed);
}

/** Notes a use of a remembered browser and returns its id; null when the user has none of the digest, or its time is up. */
export async function useDevice(scope: Scope, user_id: string, browser_digest: Buffer, now: Date): Promise<string | null> {
  const text = `update devices set last_used_at = $4 where environment_id = $1 and user_id = $2 and browser_digest = $3 and expires_at > $4 returning id`;
  const rows = await run<{ id: string }>(scope, { name: 'devices.use', text }, [user_id, browser_digest, now]);
  return rows[0]?.id ?? null;
}

const shownDevices = 100;

/** The user's remembered browsers, last used first; at most 100. */
export const listDevicesOfUser = async (scope: Scope, user_id: string, now: Date): Promise<DeviceRow[]> =>
  table<DeviceRow>(scope, 'devices')
    .where({ user_id } as never)
    .where('expires_at', '>', now)
    .orderBy('last_used_at', 'desc')
    .limit(shownDevices) as unknown as Promise<DeviceRow[]>;

/** Forgets one of the user's browsers, or all of them; returns how many there were. */
export const deleteDevices = async (scope: Scope, which: { user_id: string; id?: string }): Promise<number> =>
  remove<DeviceRow>(scope, 'devices', which);
