import { findAssertedIdentity, type AssertedIdentity } from '../../db/tables/redeemed_assertions.js';
import { normalizeEmail } from '../../lib/email-address.js';
import type { JsonObject } from '../../lib/json-object.js';
import type { Connection } from '../connections/connections.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { joinBySignIn } from '../organizations/just-in-time.js';
import { findOrganization } from '../organizations/organizations.js';
import { requiresOtherConnection, type Profile } from '../sign-ins/provider-decision.js';
import { findPerson, settleAccount } from '../sign-ins/provider-account.js';
import { assertedSubjectOf } from './assertion-issuer.js';
import type { ReadAssertion } from './read-assertion.js';

/** The person that an assertion is of, by the account at the connection. */
export type AssertedPerson = Pick<AssertedIdentity, 'id' | 'user_id' | 'user'>;

type Bringing = { readonly client_id: string; readonly origin: Origin };

const find = (ctx: Context, { id, organization_id }: Connection, subject: string) =>
  findAssertedIdentity(ctx.scope, id, subject, organization_id);

/** Whether the account signs its person in, as at the connection itself (specification 8.3). */
async function signsIn(ctx: Context, connection: Connection, { proven, generation, user }: AssertedIdentity): Promise<boolean> {
  if (!proven || generation !== connection.generation || user.status !== 'active') return false;
  return !(await requiresOtherConnection(ctx, connection, user.email));
}

/**
 * Links or makes the person of an address in the organization's verified domains, by the rules of a sign-in through its connection; whatever would ask
 * somebody something there, leads nowhere here. Null: nobody.
 */
async function firstSeen(ctx: Context, connection: Connection, profile: Profile, { client_id, origin }: Bringing): Promise<boolean> {
  if (connection.organization_id === null) return false;
  const person = await findPerson(ctx, { connection, profile, client_id }, origin);
  if (person.kind !== 'found') return false;
  return (await transaction(ctx, (tx) => settleAccount(tx, person.user, person.provider_account, origin))) !== null;
}

function profileOf({ email, email_verified }: JsonObject, subject: string): Profile {
  const address = typeof email === 'string' ? normalizeEmail(email) : null;
  return { subject, email: address, email_verified: address !== null && email_verified !== false, attributes: {} };
}

/** The person is an active member of the connection's organization, or becomes one as whoever signs in through it. */
async function isMember(ctx: Context, { id, organization_id }: Connection, identity: AssertedIdentity): Promise<boolean> {
  if (organization_id === null || identity.is_member) return true;
  const organization = await findOrganization(ctx, organization_id);
  if (organization?.status !== 'enabled') return false;
  const membership = await joinBySignIn(ctx, organization, { user_id: identity.user_id, id: identity.id, connection_ids: [id] });
  return membership?.status === 'active';
}

/** Whom the assertion is of: the person whose account it is, else by the address; null for nobody who could sign in so. */
export async function assertedPerson(
  ctx: Context,
  { connection, claims }: ReadAssertion,
  bringing: Bringing,
): Promise<AssertedPerson | null> {
  const subject = await assertedSubjectOf(ctx, connection, claims);
  if (subject === null) return null;
  let identity = await find(ctx, connection, subject);
  if (!identity && (await firstSeen(ctx, connection, profileOf(claims, subject), bringing)))
    identity = await find(ctx, connection, subject);
  if (!identity || !(await signsIn(ctx, connection, identity))) return null;
  const { aud_sub } = claims;
  if (aud_sub !== undefined && aud_sub !== identity.user_id) return null;
  return (await isMember(ctx, connection, identity)) ? identity : null;
}
