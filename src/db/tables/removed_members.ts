import { insertMissing, remove, table, type Scope } from '../scope.js';

/** Notes that somebody was removed, who does not come back by signing in. */
export async function noteRemovedMember(scope: Scope, organization_id: string, user_id: string, removed_at: Date): Promise<void> {
  await insertMissing(scope, 'removed_members', [{ organization_id, user_id, removed_at }]);
}

export async function forgetRemovedMember(scope: Scope, organization_id: string, user_id: string): Promise<void> {
  await remove<{ organization_id: string; user_id: string }>(scope, 'removed_members', { organization_id, user_id });
}

export async function wasRemovedMember(scope: Scope, organization_id: string, user_id: string): Promise<boolean> {
  const query = table(scope, 'removed_members').where({ organization_id, user_id } as never);
  return (await query.first()) !== undefined;
}
