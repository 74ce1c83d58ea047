import type { JWK } from 'jose';
import type { Knex } from 'knex';
import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { rowFunctions, type RecordRow } from '../records.js';
import { run, table, type Scope } from '../scope.js';
import { runSystem } from '../system.js';
import type { Branding, requiredAcrs } from './environments.js';
import type { BackchannelColumns } from './backchannel_columns.js';
import type { SamlColumns } from './saml_columns.js';

/** How a client proves who it is at the token endpoint (RFC 7591 2). */
export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt' | 'none';

/** Security profiles; `fapi2`: FAPI 2.0 Security Profile. */
export const clientProfiles = ['fapi2'] as const;

export const clientOrigins = ['administrator', 'registration', 'metadata_document'] as const;

/** What an initial access token, or an administrator since, lets a client have; `scopes` null: whatever is on offer; `authorization_details_types` left out: any. */
export type RegistrationCeiling = {
  readonly grant_types: readonly string[];
  readonly scopes: readonly string[] | null;
  readonly verified: boolean;
  /** Those that an administrator has put on the client since; none unless named. */
  readonly guards?: readonly ('require_pkce' | 'require_pushed_authorization_requests' | 'dpop_bound_access_tokens')[];
  readonly authorization_details_types?: readonly string[];
};

/** What an ID token says of the person beside what the `claims` parameter asks for. */
export const idTokenClaims = ['protocol', 'profile'] as const;

/** Where a mapped claim is shown. */
export const claimTargets = ['id_token', 'userinfo', 'access_token'] as const;
export type ClaimTarget = (typeof claimTargets)[number];

/** A claim under a name that an administrator chose: of what the service knows (`source`), or a constant (`value`). */
export type ClaimMapping = { claim: string; in: ClaimTarget[] } & (
  { source: string; value?: undefined } | { value: string | number | boolean | string[]; source?: undefined }
);

export const applicationTypes = ['web', 'spa', 'native', 'machine', 'saml'] as const;

export const organizationUsages = ['deny', 'allow', 'require'] as const;

/** A row of `clients`; its id is the `client_id`. Lifetimes in seconds, null = the environment's. */
export type ClientRow = RecordRow &
  BackchannelColumns &
  SamlColumns & {
    name: string;
    description: string | null;
    application_type: (typeof applicationTypes)[number];
    redirect_uris: string[];
    post_logout_redirect_uris: string[];
    allowed_origins: string[];
    grant_types: string[];
    token_endpoint_auth_method: ClientAuthMethod;
    /** The scopes it may ask for; null = the OpenID Connect ones and every permission of the resource it names. */
    scopes: string[] | null;
    /** The types of authorization details that it may ask for (RFC 9396 10). */
    authorization_details_types: string[];
    access_token_format: 'jwt' | 'opaque';
    first_party: boolean;
    /** Whether people sign in to it for an organization: never, where the request names one, or always. */
    organization_usage: (typeof organizationUsages)[number];
    /** May ask about tokens of other clients (RFC 7662); never one that registered itself. */
    introspection_allowed: boolean;
    require_pkce: boolean;
    id_token_lifetime: number | null;
    refresh_token_lifetime: number | null;
    /** Token requests a minute once authenticated; null = RATE_LIMIT_TOKEN. */
    token_rate_limit: number | null;
    backchannel_logout_uri: string | null;
    backchannel_logout_session_required: boolean;
    initiate_login_uri: string | null;
    /** `profile`: what the scopes release stands in the ID token too, not only at userinfo (OIDC Core 5.4). */
    id_token_claims: (typeof idTokenClaims)[number];
    /** Identifier of the API resource that a token request without `resource` is for; null = such a request is refused. */
    default_resource: string | null;
    claim_mappings: ClaimMapping[];
    /** The security profile that it is held to; null: none. */
    profile: (typeof clientProfiles)[number] | null;
    /** Whether it has to push its authorization requests (RFC 9126 6). */
    require_pushed_authorization_requests: boolean;
    /** Whether what it pushes has to be a signed request object (RFC 9101 10.5). */
    require_signed_request_object: boolean;
    /** Whether its tokens have to be bound to a key (RFC 9449 5.2). */
    dpop_bound_access_tokens: boolean;
    /** What its ID and logout tokens are signed with: one of the environment's. */
    id_token_signed_response_alg: SigningAlgorithm;
    /** What the answers of the authorization endpoint are signed with (JARM); null: they are signed where a request asks for it, with RS256. */
    authorization_signed_response_alg: SigningAlgorithm | null;
    /** What introspection responses are signed with (RFC 9701 6); null: JSON, unless a request asks for a JWT. */
    introspection_signed_response_alg: SigningAlgorithm | null;
    /** Userinfo as a JWT signed so (OIDC Core 5.3.2); null: JSON. */
    userinfo_signed_response_alg: SigningAlgorithm | null;
    /** The class that its sign-ins must reach (`acr`); null: any. */
    required_acr: (typeof requiredAcrs)[number] | null;
    is_agent: boolean;
    owner_id: string | null;
    /** Seconds since the person proved who they are, beyond which they are asked again; null: any. */
    max_authentication_age: number | null;
    signal_audience: 'own' | 'organization' | 'everybody';
    client_uri: string | null;
    logo_uri: string | null;
    policy_uri: string | null;
    tos_uri: string | null;
    contacts: string[];
    /** How pages and mails look while people are on their way to it; what is absent is the environment's. */
    branding: Branding & { support_email?: string | null };
    jwks: { keys: JWK[] } | null;
    jwks_uri: string | null;
    status: 'enabled' | 'disabled';
    is_system: boolean;
    secret_digest: Buffer | null;
    secret_hint: string | null;
    secret_rotated_at: Date | null;
    previous_secret_digest: Buffer | null;
    previous_secret_expires_at: Date | null;
    /** Of the registration access token (RFC 7592 3). */
    registration_token_digest: Buffer | null;
    origin: (typeof clientOrigins)[number];
    /** Whether an administrator stands behind it: always so for their own. */
    verified: boolean;
    /** Verified because its host is listed, and only as long as it is. */
    verified_by_host: boolean;
    /** What the row was last read from; these are null but for clients of metadata documents. */
    document_digest: Buffer | null;
    document_read_at: Date | null;
    /** Until when the row may be taken as it is. */
    document_fresh_until: Date | null;
    /** Since when there is no document that describes it; null while there is. */
    document_ended_at: Date | null;
    /** What the initial access token that it registered with lets it have; null: what everybody may. */
    registration_ceiling: RegistrationCeiling | null;
    last_used_at: Date | null;
    /** What it was issued before is worth nothing; null: all that it was issued stands. */
    tokens_not_before: Date | null;
  };

/** @param options `lock`: nobody else changes it until the transaction ends */
export const findClient = async (scope: Scope, id: string, options: { lock?: boolean } = {}): Promise<ClientRow | null> =>
  (await table<ClientRow>(scope, 'clients').where({ id }).modify((query) => void (options.lock && query.forUpdate())).first()) ?? null; // prettier-ignore

/** A list for a `jsonb` column goes as text: the driver takes an array for one of PostgreSQL's. */
export const withJsonMappings = <Row extends { claim_mappings: ClaimMapping[] }>(row: Partial<Row>): Partial<Row> =>
  row.claim_mappings === undefined ? row : { ...row, claim_mappings: JSON.stringify(row.claim_mappings) as unknown as ClaimMapping[] };

export const findClientByEntityId = async (scope: Scope, saml_entity_id: string): Promise<ClientRow | null> =>
  (await table<ClientRow>(scope, 'clients').where({ saml_entity_id }).first()) ?? null;

export const findClients = async (scope: Scope, ids: readonly string[]): Promise<ClientRow[]> =>
  ids.length === 0 ? [] : ((await table<ClientRow>(scope, 'clients').whereIn('id', [...ids])) as ClientRow[]);

export const { insert: insertClient, update: updateClient, remove: deleteClient } = rowFunctions<ClientRow>('clients', withJsonMappings);

/** Stores a client unless there is one of its id; null then. */
export async function insertClientIfMissing(scope: Scope, row: Partial<ClientRow>): Promise<ClientRow | null> {
  scope.touched.add('clients');
  const [stored] = await scope
    .knex<ClientRow>('clients')
    .insert({ ...withJsonMappings(row), environment_id: scope.environment_id })
    .onConflict(['environment_id', 'id'])
    .ignore()
    .returning('*');
  return (stored as ClientRow | undefined) ?? null;
}

async function listOrigins(scope: Scope, which: Partial<ClientRow>): Promise<string[]> {
  const rows = (await scope
    .knex('clients')
    .where({ ...which, environment_id: scope.environment_id, status: 'enabled' })
    .whereRaw('cardinality(allowed_origins) > 0')
    .select(scope.knex.raw('distinct unnest(allowed_origins) as origin'))) as { origin: string }[];
  return rows.map((row) => row.origin);
}

/** The distinct origins from which browsers may call the token endpoint (CORS). */
export const listAllowedOrigins = (scope: Scope): Promise<string[]> => listOrigins(scope, {});

/** The distinct origins of first-party clients, which may bring their own UI for accounts (CORS with the session cookie). */
export const listOwnOrigins = (scope: Scope): Promise<string[]> => listOrigins(scope, { first_party: true });

/** What is shown of an application that a person can open. */
export type OpenableClient = Pick<ClientRow, 'id' | 'name' | 'logo_uri'> & { initiate_login_uri: string };

/** The most applications that are listed. */
const mostOpenable = 50;

/** The first-party clients at which the user's sessions signed in and a sign-in can begin, by name. */
export async function listOpenableClients(scope: Scope, user_id: string): Promise<OpenableClient[]> {
  const text = `select c.id, c.name, c.logo_uri, c.initiate_login_uri from clients c
      where c.environment_id = $1 and c.status = 'enabled' and c.first_party and c.initiate_login_uri is not null and exists (
        select 1 from sessions s join session_clients sc on sc.environment_id = s.environment_id and sc.session_id = s.id
        where s.environment_id = $1 and s.user_id = $2 and sc.client_id = c.id)
      order by c.name, c.id limit $3`;
  return run<OpenableClient>(scope, { name: 'clients.list_openable', text }, [user_id, mostOpenable]);
}

/**
 * Notes when clients of many environments were last used: never an earlier time than what is there, so that replicas may write in any
 * order; neither version nor `updated_at` change. Rows are locked in one order in every process.
 */
export async function noteClientUse(knex: Knex, uses: readonly { environment_id: string; client_id: string; at: Date }[]): Promise<void> {
  if (uses.length === 0) return;
  await knex.raw(
    `with used as (
       select c.environment_id, c.id, u.at
       from unnest(?::uuid[], ?::text[], ?::timestamptz[]) as u (environment_id, id, at)
       join clients c on c.environment_id = u.environment_id and c.id = u.id
       where takes_writes(u.environment_id) and (c.last_used_at is null or c.last_used_at < u.at)
       order by c.environment_id, c.id for no key update of c
     )
     update clients c set last_used_at = greatest(c.last_used_at, used.at) from used where c.environment_id = used.environment_id and c.id = used.id`,
    [uses.map((one) => one.environment_id), uses.map((one) => one.client_id), uses.map((one) => one.at.toISOString())],
  );
}

/** How many choose the algorithm for what they get. */
export async function countClientsSignedWith(scope: Scope, algorithm: SigningAlgorithm): Promise<number> {
  const chosen = table(scope, 'clients').where((one) => {
    for (const what of ['id_token', 'userinfo', 'authorization', 'introspection'])
      void one.orWhere(`${what}_signed_response_alg`, algorithm);
  });
  const row = await chosen.count<{ count: string }>('* as count').first();
  return Number(row?.count);
}

/** The ids and states of clients of any environments, as far as they are known. */
export async function findClientStates(
  knex: Knex,
  clients: readonly { readonly environment_id: string; readonly client_id: string }[],
): Promise<Pick<ClientRow, 'environment_id' | 'id' | 'status'>[]> {
  if (clients.length === 0) return [];
  const text = `
    select c.environment_id, c.id, c.status from unnest($1::uuid[], $2::text[]) as asked (environment_id, id)
    join clients c on c.environment_id = asked.environment_id and c.id = asked.id`;
  const values = [clients.map((one) => one.environment_id), clients.map((one) => one.client_id)];
  return runSystem(knex, { name: 'clients.find_states', text }, values);
}
