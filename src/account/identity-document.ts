import type { IdentityWithConnection } from '../db/tables/identities.js';
import type { OwnProviderToken } from '../db/tables/provider_tokens.js';
import { shownNameOf } from '../http/pages/shown-client.js';
import type { Words } from '../http/pages/words.js';
import type { PageIdentity } from '../http/pages/page-models.js';

/** An account at a provider as its owner sees it, on pages and as JSON; times as ISO 8601. */
export const identityDocument = (identity: IdentityWithConnection) => ({
  id: identity.id,
  connection_id: identity.connection_id,
  display_name: identity.connection_display_name,
  strategy: identity.connection_strategy as PageIdentity['strategy'],
  email: identity.email,
  proven: identity.proven,
  linked_at: identity.created_at.toISOString(),
  last_login_at: identity.last_login_at?.toISOString() ?? null,
});

/** A client that has tokens of the account, as its owner sees it. */
export const providerUse = (
  words: Words,
  { id, client_id, client_name, client_verified, scopes, granted_at, last_used_at }: OwnProviderToken,
) => ({
  id,
  client_id,
  name: shownNameOf(words, { name: client_name, verified: client_verified }),
  scopes,
  granted_at: granted_at.toISOString(),
  last_used_at: last_used_at?.toISOString() ?? null,
});
