import { rowFunctions, type RecordRow } from '../records.js';
import { run, table, type Scope } from '../scope.js';

/** A row of `organization_invitations`: an address that somebody asks into an organization. */
export type InvitationRow = RecordRow & {
  organization_id: string;
  email: string;
  email_key: string;
  token_digest: Buffer;
  /** Where the invitation leads once it is accepted. */
  client_id: string | null;
  /** Null: a client invites, or the user is gone; the name stays. */
  inviter_id: string | null;
  inviter_name: string | null;
  sent_at: Date;
  expires_at: Date;
  accepted_at: Date | null;
  /** At or after `expires_at`: nobody revoked it, another took its place. */
  revoked_at: Date | null;
};

export const {
  lock: lockInvitation,
  insert: insertInvitation,
  update: updateInvitation,
} = rowFunctions<InvitationRow>('organization_invitations');

export const findInvitationByDigest = async (scope: Scope, token_digest: Buffer): Promise<InvitationRow | null> =>
  (await table<InvitationRow>(scope, 'organization_invitations').where({ token_digest }).first()) ?? null;

/**
 * Accepts the open invitation of the token for the address of the user, or finds nothing: of requests at once one does. Whoever was removed since it was sent
 * needs another one.
 */
export async function spendInvitation(
  scope: Scope,
  token_digest: Buffer,
  { id, email_key }: { readonly id: string; readonly email_key: string },
  now: Date,
): Promise<InvitationRow | null> {
  scope.touched.add('organization_invitations');
  const text = `update organization_invitations set accepted_at = $4, updated_at = $4, version = version + 1
      where environment_id = $1 and token_digest = $2 and email_key = $3
        and accepted_at is null and revoked_at is null and expires_at > $4
        and not exists (select from removed_members r where r.environment_id = $1 and r.organization_id = organization_invitations.organization_id
          and r.user_id = $5 and r.removed_at >= sent_at)
      returning *`;
  const rows = await run<InvitationRow>(scope, { name: 'organization_invitations.spend', text }, [token_digest, email_key, now, id]);
  return rows[0] ?? null;
}

/** Closes an invitation of the address that is past its time, so that another can take its place. */
export async function closeExpiredInvitation(scope: Scope, organization_id: string, email_key: string, now: Date): Promise<void> {
  scope.touched.add('organization_invitations');
  const text = `update organization_invitations set revoked_at = $4, version = version + 1
      where environment_id = $1 and organization_id = $2 and email_key = $3 and accepted_at is null and revoked_at is null and expires_at <= $4`;
  await run(scope, { name: 'organization_invitations.close_expired', text }, [organization_id, email_key, now]);
}
