import { isListed } from '../../domain/clients/admission.js';
import { readingOf } from '../../domain/clients/document-clients.js';
import type { MetadataDocument } from '../../platform/fetch/metadata-documents.js';
import { withoutSaml } from '../../domain/clients/saml.js';
import { openGrants } from '../../domain/clients/initial-access-tokens.js';
import type { Context } from '../../domain/context.js';
import type { Environment } from '../../domain/environment.js';
import type { ClientRow } from '../../db/tables/clients.js';
import { OAuthError } from '../../errors.js';
import { jwtBearerGrantType, jwtDpopGrantType } from '../../lib/grant-types.js';
import { strangersName } from '../../lib/plain-words.js';
import { policyOf, readClient } from '../register/metadata.js';
import { ofEach } from '../../lib/memo.js';

/** What a document says of its client, as columns; or why it describes none, which is public. */
export type DocumentColumns = { readonly columns: ReturnType<typeof readClient> } | { readonly reason: string };

const maxNameLength = 255;
/** What a client may use here, by how it proves itself: assertions are worth what their issuer is trusted for. */
const [publicGrants, documentGrants] = [
  [...openGrants, jwtDpopGrantType],
  [...openGrants, jwtDpopGrantType, jwtBearerGrantType],
];

/** The members that belong to every service, as this one takes them: what isn't offered here is left out, for the document is not written for it alone. */
function adapted(members: MetadataDocument['members']): Record<string, unknown> {
  const { client_name, grant_types, response_types, token_endpoint_auth_method = 'none' } = members;
  const offeredOf = (list: unknown, offered: readonly string[]) =>
    Array.isArray(list) ? list.filter((one) => offered.includes(one)) : list;
  const name = typeof client_name === 'string' ? strangersName(client_name, maxNameLength) : client_name;
  return {
    ...members,
    client_name: name === '' ? undefined : name,
    grant_types: offeredOf(grant_types, token_endpoint_auth_method === 'none' ? publicGrants : documentGrants),
    response_types: offeredOf(response_types, ['code']),
    token_endpoint_auth_method,
  };
}

/** What no document may hold: it is public, and a secret in it is everybody's (OAuth Client ID Metadata Document 4.1). */
function secretIn(members: MetadataDocument['members']): string | null {
  const [secret] = Object.keys(members).filter((name) => name.startsWith('client_secret'));
  if (secret !== undefined) return `document must not hold ${secret}`;
  const method = members['token_endpoint_auth_method'];
  return typeof method === 'string' && method.startsWith('client_secret_') ? 'document must not name a method with a shared secret' : null;
}

function read(ctx: Context, { members }: MetadataDocument): DocumentColumns {
  const secret = secretIn(members);
  if (secret !== null) return { reason: secret };
  try {
    return { columns: readClient(adapted(members), policyOf(ctx), documentGrants) };
  } catch (error) {
    if (error instanceof OAuthError) return { reason: `document is refused: ${error.description}` };
    throw error;
  }
}

/** By the environment, whose settings decide what a document may say, and by what it says. */
const columnsIn = ofEach((_environment: Environment) =>
  ofEach((_members: MetadataDocument['members'], { ctx, document }: { readonly ctx: Context; readonly document: MetadataDocument }) =>
    read(ctx, document),
  ),
);

/** Reads the document as columns, once for as long as both stay the same. */
export const documentColumns = (ctx: Context, document: MetadataDocument): DocumentColumns =>
  columnsIn(ctx.environment)(document.members, { ctx, document });

/** What neither the document nor an administrator has said. */
const blank = {
  description: null,
  access_token_format: 'opaque',
  introspection_allowed: false,
  id_token_lifetime: null,
  refresh_token_lifetime: null,
  token_rate_limit: null,
  id_token_claims: 'protocol',
  claim_mappings: [],
  organization_usage: 'deny',
  is_agent: true,
  owner_id: null,
  signal_audience: 'own',
  backchannel_users: 'known',
  required_acr: null,
  max_authentication_age: null,
  default_resource: null,
  profile: null,
  require_signed_request_object: false,
  status: 'enabled',
  is_system: false,
  secret_digest: null,
  secret_hint: null,
  secret_rotated_at: null,
  previous_secret_digest: null,
  previous_secret_expires_at: null,
  registration_token_digest: null,
  registration_ceiling: null,
  tokens_not_before: null,
  last_used_at: null,
} as const;

/** The client of a document as a row that isn't stored yet (`version` 0). */
export function documentRow(
  ctx: Context,
  document: MetadataDocument,
  columns: ReturnType<typeof readClient>,
): ClientRow & { readonly version: 0 } {
  const listed = isListed(ctx.environment, document.url);
  return {
    ...blank,
    ...withoutSaml,
    claim_mappings: [],
    branding: {},
    ...columns,
    ...readingOf(document),
    environment_id: ctx.environment.id,
    id: document.url,
    origin: 'metadata_document',
    verified: listed,
    verified_by_host: listed,
    version: 0,
    created_at: document.read_at,
    updated_at: document.read_at,
  };
}
