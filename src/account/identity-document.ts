import type { IdentityWithConnection } from '../db/tables/identities.js';
import type { PageIdentity } from '../http/pages/page-models.js';

/** An account at a provider as its owner sees it, on pages and as JSON; times as ISO 8601. */
export function identityDocument(identity: IdentityWithConnection) {
  return {
    id: identity.id,
    connection_id: identity.connection_id,
    display_name: identity.connection_display_name,
    strategy: identity.connection_strategy as PageIdentity['strategy'],
    email: identity.email,
    proven: identity.proven,
    linked_at: identity.created_at.toISOString(),
    last_login_at: identity.last_login_at?.toISOString() ?? null,
  };
}
