import { newStamps } from '../../db/records.js';
import type { DirectoryRow } from '../../db/tables/directories.js';
import {
  deleteDirectoryUser, insertDirectoryUser, lockDirectoryUser, updateDirectoryUser, type DirectoryUserRow,
} from '../../db/tables/directory_users.js'; // prettier-ignore
import { lockMembership } from '../../db/tables/organization_memberships.js';
import type { OrganizationRow } from '../../db/tables/organizations.js';
import { findUserByEmailKey, lockUser, type UserRow } from '../../db/tables/users.js';
import { own } from '../../lib/named.js';
import type { Actor } from '../actor.js';
import { recordSecurityEvent, userParty } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import { emit } from '../events/emit.js';
import { queueMail } from '../mail/mail.js';
import { noOrigin } from '../origin.js';
import { speaksForAddress } from '../organizations/domains.js';
import { addMember, findMembership, removeMember, resumeMember, suspendMember } from '../organizations/memberships.js';
import { administersEnvironment } from '../reach/reach-of.js';
import { Refusal, refuseDuplicates, unfit } from '../refusal.js';
import { blockUser, unblockUser } from '../users/blocking.js';
import { changeUser, createUser, type UserInput } from '../users/users.js';
import { addressOf, foldedOf, profileOf, type DirectoryPerson } from './person.js';

export type DirectoryUser = DirectoryUserRow;

/** A directory that tells of its people: whose, and who acts. */
export type Teller = { readonly directory: DirectoryRow; readonly organization: OrganizationRow; readonly actor: Actor };

const duplicates = {
  directory_users_environment_id_directory_id_user_name_key_key: {
    attribute: 'userName',
    detail: 'There is a User of this userName already.',
  },
  directory_users_environment_id_directory_id_external_id_key: {
    attribute: 'externalId',
    detail: 'There is a User of this externalId already.',
  },
  directory_users_environment_id_directory_id_user_id_key: { attribute: 'emails', detail: 'There is a User of this address already.' },
};

const invalidAddress = (detail: string) => new Refusal(unfit('emails', 'invalid_email', detail));

/** The address that the person's account has, which has to be one that the directory speaks for. @throws {Refusal} 422 */
async function requireAddress(tx: Context, { organization }: Teller, person: DirectoryPerson) {
  const address = addressOf(person);
  if (!address) throw invalidAddress('The primary email, else that of work, else the userName must be an email address.');
  if (await speaksForAddress(tx, organization.id, address.email)) return address;
  const domain = address.email.slice(address.email.indexOf('@') + 1);
  throw invalidAddress(`${domain} is no verified domain of the organization, so its directory does not speak for addresses there.`);
}

/** Nobody below them moves those who administer the environment. @throws {Refusal} 403 */
async function refuseAdministrator(tx: Context, user: UserRow): Promise<void> {
  if (!(await administersEnvironment(tx, user.id))) return;
  const detail = 'The account administers the environment: a directory does not change it.';
  throw new Refusal({ status: 403, code: 'scope_escalation', detail });
}

/** Whether the account is the organization's own, by its address. One that has moved elsewhere is only a member. */
const isManaged = (tx: Context, { organization }: Teller, user: UserRow): Promise<boolean> =>
  speaksForAddress(tx, organization.id, user.email);

const rowOf = ({ user_name, external_id, active, resource }: DirectoryPerson) => ({
  user_name,
  user_name_key: user_name.toLowerCase(),
  external_id,
  active,
  resource: { ...resource },
  folded: foldedOf(resource) as Record<string, unknown>,
});

/** Tells somebody who had an account that the directory speaks for it from now on. */
async function tellLinked(tx: Context, { organization, directory, actor }: Teller, user: UserRow): Promise<void> {
  const target = { target_type: 'user', target_id: user.id, display: user.email };
  await recordSecurityEvent(tx, 'directory.user_linked', {
    actor,
    target,
    origin: actor.origin ?? noOrigin,
    detail: { directory_id: directory.id },
  });
  const model = { provider: organization.display_name, provider_email: user.email, account_url: `${tx.environment.issuer}/account` };
  await queueMail(tx, { template: 'account_linked', to: user.email, locale: user.locale, model, origin: noOrigin });
}

/** The account of the address: one that is there is linked, and its address is proven by the domain; else it is made. @throws {Refusal} 403, 422 */
async function accountOf(tx: Context, teller: Teller, person: DirectoryPerson): Promise<UserRow> {
  const { email, email_key } = await requireAddress(tx, teller, person);
  const found = await findUserByEmailKey(tx.scope, email_key);
  const proven = { ...profileOf(person), email_verified: true };
  if (!found) return createUser(tx, teller.actor, { ...proven, email }, undefined, [], { administrators: false });
  await refuseAdministrator(tx, found);
  const user = await changeUser(tx, teller.actor, found, proven, undefined);
  await tellLinked(tx, teller, user);
  return user;
}

/** Whether the directory suspended the membership that is there, or the one that it had suspended. */
async function suspend(tx: Context, { organization, actor }: Teller, user: UserRow): Promise<boolean> {
  const membership = await findMembership(tx, organization.id, user.id);
  if (membership?.status !== 'active') return false;
  await suspendMember(tx, actor, membership);
  return true;
}

/** Ends what the person has here: the membership rests or goes, and the account, where it is the organization's own, is blocked. */
async function block(tx: Context, teller: Teller, user: UserRow): Promise<void> {
  if (user.status === 'active' && (await isManaged(tx, teller, user))) await blockUser(tx, teller.actor, user, 'directory');
}

const join = async (tx: Context, { organization, actor }: Teller, user: UserRow) =>
  (await findMembership(tx, organization.id, user.id)) ?? addMember(tx, actor, { organization, user, source: 'directory' });

/** Takes back what the directory itself has ended, and that alone: somebody whom an administrator blocked or suspended stays so. */
async function letIn(tx: Context, teller: Teller, user: UserRow, suspended: boolean): Promise<void> {
  const { actor } = teller;
  const membership = await join(tx, teller, user);
  if (suspended && membership.status === 'suspended') await resumeMember(tx, actor, membership);
  if (user.blocked_reason === 'directory' && (await isManaged(tx, teller, user))) await unblockUser(tx, actor, user);
}

async function record(
  tx: Context,
  event: 'directory.user_provisioned' | 'directory.user_deprovisioned',
  { directory, organization, actor }: Teller,
  { id, user_id, external_id }: DirectoryUserRow,
  user: UserRow,
): Promise<void> {
  const { target } = userParty(user);
  const recorded = event === 'directory.user_provisioned';
  await recordSecurityEvent(tx, recorded ? 'directory.user_provisioned' : 'directory.user_deprovisioned', {
    actor,
    target,
    origin: actor.origin ?? noOrigin,
    detail: { directory_id: directory.id },
  });
  const data = { id, directory_id: directory.id, organization_id: organization.id, user_id, email: user.email, external_id };
  const at = tx.clock.now().toISOString();
  if (event === 'directory.user_provisioned') await emit(tx, event, { ...data, provisioned_at: at });
  else await emit(tx, event, { ...data, deprovisioned_at: at });
}

/**
 * Takes in a person of whom a directory tells: makes the account or links the one of the address, and the membership. One who isn't active is taken in and
 * shut out at once. @throws {Refusal} 403, 409, 422
 */
export async function provisionUser(tx: Context, teller: Teller, person: DirectoryPerson): Promise<DirectoryUser> {
  const user = await accountOf(tx, teller, person);
  const stamps = { directory_id: teller.directory.id, user_id: user.id, ...newStamps(tx.clock.now()) };
  const row = await refuseDuplicates(duplicates, () => insertDirectoryUser(tx.scope, { ...rowOf(person), ...stamps }));
  if (person.active) await letIn(tx, teller, user, false);
  else await join(tx, teller, user);
  await record(tx, 'directory.user_provisioned', teller, row, user);
  return person.active ? row : shutOut(tx, teller, row, user);
}

async function shutOut(tx: Context, teller: Teller, row: DirectoryUserRow, user: UserRow): Promise<DirectoryUser> {
  const membership_suspended = await suspend(tx, teller, user);
  await block(tx, teller, user);
  await record(tx, 'directory.user_deprovisioned', teller, row, user);
  return (await updateDirectoryUser(tx.scope, row.id, { membership_suspended })) ?? row;
}

/** What of the account follows the directory: names, and the address where the directory has another one. @throws {Refusal} 422 */
async function follow(tx: Context, teller: Teller, user: UserRow, before: DirectoryUserRow, person: DirectoryPerson): Promise<UserRow> {
  const moved = addressOf(before)?.email_key !== addressOf(person)?.email_key;
  const address = moved ? await requireAddress(tx, teller, person) : null;
  if (!(await isManaged(tx, teller, user))) return user;
  const changes: UserInput = { ...profileOf(person), ...(address && { email: address.email, email_verified: true }) };
  const isSame = Object.entries(changes).every(([name, value]) => own(user, name) === value);
  return isSame ? user : changeUser(tx, teller.actor, user, changes, undefined);
}

/** Changes a person as the directory says. What is not there any more is null. @throws {Refusal} 403, 409, 422 */
export async function changeDirectoryUser(
  tx: Context,
  teller: Teller,
  before: DirectoryUserRow,
  person: DirectoryPerson,
): Promise<DirectoryUser> {
  // What an administrator decides about the account meanwhile comes before this, or after it.
  const found = await lockUser(tx.scope, before.user_id);
  if (!found) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such User.' });
  await refuseAdministrator(tx, found);
  const changes = { ...rowOf(person), updated_at: tx.clock.now() };
  const row = await refuseDuplicates(duplicates, () => updateDirectoryUser(tx.scope, before.id, changes));
  if (!row) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such User.' });
  const user = await follow(tx, teller, found, before, person);
  if (before.active && !person.active) return shutOut(tx, teller, row, user);
  if (before.active || !person.active) return row;
  await letIn(tx, teller, user, before.membership_suspended);
  await record(tx, 'directory.user_provisioned', teller, row, user);
  return (await updateDirectoryUser(tx.scope, row.id, { membership_suspended: false })) ?? row;
}

/**
 * Lets go of a person: the membership ends unless an administrator suspended it, an account of the organization's own is blocked, and stays, so that a person who is told of again finds it.
 * @throws {Refusal} 403
 */
export async function removeDirectoryUser(tx: Context, teller: Teller, row: DirectoryUserRow): Promise<void> {
  const user = await lockUser(tx.scope, row.user_id);
  if (!user) return;
  await refuseAdministrator(tx, user);
  await deleteDirectoryUser(tx.scope, row.id);
  const found = await findMembership(tx, teller.organization.id, user.id);
  const membership = found && (await lockMembership(tx.scope, found.id));
  // Without the membership that an administrator has suspended whoever is told of again would come back active.
  if (membership && (membership.status === 'active' || row.membership_suspended)) await removeMember(tx, teller.actor, membership);
  await block(tx, teller, user);
  await record(tx, 'directory.user_deprovisioned', teller, row, user);
}

/** The person of the id, held until the transaction ends. @throws {Refusal} 404 */
export async function holdDirectoryUser(tx: Context, { directory }: Teller, id: string): Promise<DirectoryUser> {
  const row = await lockDirectoryUser(tx.scope, directory.id, id);
  if (!row) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such User.' });
  return row;
}
