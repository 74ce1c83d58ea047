import { insertMissing, remove, table, type Scope } from '../scope.js';

/** Notes that somebody was removed, who does not come back by signing in. */
export async function noteRemovedMember(scope: Scope, organization_id: string, user_id: string, removed_at: Date): Promise<void> {
  await insertMissing(scope, 'removed_members', [{ organization_id, user_id, removed_at }]);
}

/** Whether somebody was a member before, and was removed; no longer known afterwards. */
export const forgetRemovedMember = async (scope: Scope, organization_id: string, user_id: string): Promise<boolean> =>
  (await remove<{ organization_id: string; user_id: string }>(scope, 'removed_members', { organization_id, user_id })) > 0;

export async function wasRemovedMember(scope: Scope, organization_id: string, user_id: string): Promise<boolean> {
  const query = table(scope, 'removed_members').where({ organization_id, user_id } as never);
  return (await query.first()) !== undefined;
}
