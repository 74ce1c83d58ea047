import { newStamps } from '../../db/records.js';
import {
  deleteDirectory, findDirectoryByToken, insertDirectory, noteDirectoryUse, rotateDirectoryToken, updateDirectory, type DirectoryRow,
} from '../../db/tables/directories.js'; // prettier-ignore
import type { OrganizationRow } from '../../db/tables/organizations.js';
import { digest } from '../../lib/digest.js';
import { isUuid, randomToken } from '../../lib/random.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import type { Origin } from '../origin.js';
import { noReach } from '../reach/reach.js';
import { invalidTransition, Refusal, refuseDuplicates } from '../refusal.js';

export type Directory = DirectoryRow;

/** A directory and its token in plain: shown this once, never again. */
export type DirectoryWithToken = { readonly directory: Directory; readonly token: string };

/** How long the token before is good after a rotation, in milliseconds. */
const previousTokenLifetimeMs = 7 * 86_400_000;

const usePauseMs = 60_000;

const duplicates = {
  directories_environment_id_organization_id_key: { relationship: 'organization', detail: 'The organization has a directory already.' },
};

const mintToken = () => {
  const token = randomToken('scim_');
  return { token, token_digest: digest(token), token_hint: token.slice(-4) };
};

/** The address that the directory's provider is given. */
export const directoryUrl = ({ environment }: Pick<Context, 'environment'>, { id }: Pick<Directory, 'id'>): string =>
  `${environment.base_url}/scim/v2/${id}`;

/** Who acts when the directory does. */
export const directoryActor = (
  { id }: Pick<Directory, 'id'>,
  organization: Pick<OrganizationRow, 'display_name'>,
  origin: Origin,
): Actor => ({
  actor_kind: 'system',
  actor_id: id,
  display: `The directory of ${organization.display_name}`,
  permissions: noReach,
  origin,
});

/** Makes the directory of an organization. @throws {Refusal} 409 */
export async function createDirectory(
  tx: Context,
  input: { readonly status?: Directory['status'] },
  organization: Pick<OrganizationRow, 'id'>,
): Promise<DirectoryWithToken> {
  const { token, ...secret } = mintToken();
  const stamps = newStamps(tx.clock.now());
  const row = { ...input, ...secret, ...stamps, organization_id: organization.id };
  return { directory: await refuseDuplicates(duplicates, () => insertDirectory(tx.scope, row)), token };
}

const gone = () => new Refusal({ status: 404, code: 'not_found', detail: 'There is no such directory.' });

/** @throws {Refusal} 404 */
export async function changeDirectory(tx: Context, row: Directory, input: { readonly status?: Directory['status'] }): Promise<Directory> {
  const changed = await updateDirectory(tx.scope, row.id, { ...input, updated_at: tx.clock.now() });
  if (!changed) throw gone();
  return changed;
}

/** A new token; the one before is good for seven more days. One that is older ends. @throws {Refusal} 404 */
export async function rotateToken(tx: Context, row: Directory): Promise<DirectoryWithToken> {
  const now = tx.clock.now();
  const { token, ...secret } = mintToken();
  const previous_token_expires_at = new Date(now.getTime() + previousTokenLifetimeMs);
  const directory = await rotateDirectoryToken(tx.scope, row.id, { ...secret, previous_token_expires_at, updated_at: now });
  if (!directory) throw gone();
  return { directory, token };
}

/** Ends the token before at once. @throws {Refusal} 404, 409 where there is none */
export async function revokePreviousToken(tx: Context, row: Directory): Promise<Directory> {
  if (row.previous_token_digest === null) throw invalidTransition('There is no earlier token.');
  const none = { previous_token_digest: null, previous_token_expires_at: null, updated_at: tx.clock.now() };
  const directory = await updateDirectory(tx.scope, row.id, none);
  if (!directory) throw gone();
  return directory;
}

/** Ends provisioning. The people stay members, and whom the directory has blocked stays blocked. */
export async function removeDirectory(tx: Context, row: Directory): Promise<void> {
  await deleteDirectory(tx.scope, row.id);
}

/** The enabled directory of the id for which the token is good; null for any other. */
export async function findUsableDirectory(ctx: Context, id: string, token: string): Promise<Directory | null> {
  if (!isUuid(id) || !/^scim_[\w-]{43}$/.test(token)) return null;
  return findDirectoryByToken(ctx.scope, id, digest(token), ctx.clock.now());
}

/** Notes that a directory was heard of, at most once a minute. */
export async function noteUse(ctx: Context, { id, last_used_at }: Directory): Promise<void> {
  const now = ctx.clock.now();
  if (last_used_at === null || now.getTime() - last_used_at.getTime() >= usePauseMs) await noteDirectoryUse(ctx.scope, id, now);
}
