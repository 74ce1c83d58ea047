import { run, type Scope } from '../scope.js';
import { permissionsHeldSql } from './permissions.js';
import { mapsClaimsSql, userClaimsSql, userOfJson, type UserClaimsJson, type UserWithRoles } from './user_claims.js';

/** A stored (opaque) access token, with the state of its user, session and grant. */
export type AccessTokenState = {
  jti: string;
  grant_id: string | null;
  client_id: string;
  user_id: string | null;
  session_id: string | null;
  scope: string;
  audience: string;
  claims: Record<string, unknown> | null;
  issued_at: Date;
  expires_at: Date;
} & TokenStanding;

/** Whether a token's user, session and grant still stand. */
export type TokenStanding = {
  user_status: 'active' | 'blocked' | null;
  session_revoked_at: Date | null;
  revoked: boolean;
};

/** Stores an opaque token that no code and no refresh token stands behind (client credentials), with its event if wanted. */
export async function insertClientAccessToken(
  scope: Scope,
  token: {
    digest: Buffer;
    jti: string;
    client_id: string;
    scope: string;
    audience: string;
    issued_at: Date;
    lifetime: number;
    event_id: string;
    subscribers: readonly string[];
  },
): Promise<void> {
  const { lifetime, issued_at } = token;
  const expires_at = new Date(issued_at.getTime() + lifetime * 1000);
  const values = [token.digest, token.jti, token.client_id, token.scope, token.audience, issued_at, expires_at];
  if (token.subscribers.length === 0) await run(scope, insertForClient, values);
  else await run(scope, insertForClientWithEvent, [...values, token.subscribers, token.event_id, lifetime]);
}

const insertForClientText = `insert into access_tokens (environment_id, digest, jti, client_id, scope, audience, issued_at, expires_at)
                             values ($1, $2, $3::uuid, $4, $5, $6, $7, $8)`;

const insertForClient = { name: 'access_tokens.insert_for_client', short: { kind: 'write', key: 2 }, text: insertForClientText } as const;

const insertForClientWithEvent = {
  name: 'access_tokens.insert_for_client_with_event',
  short: { kind: 'write', key: 2 },
  text: `with access as (${insertForClientText} returning *)
         select store_token_issued($1, $10::uuid, issued_at, $9::uuid[], $3::uuid, 'opaque', 'client_credentials', client_id, null, null,
           scope, audience, $11::integer, false)
         from access`,
} as const;

/** Stores the `token.issued` event of a JWT, which itself is stored nowhere. */
export async function storeTokenIssued(
  scope: Scope,
  event: {
    event_id: string;
    at: Date;
    subscribers: readonly string[];
    jti: string;
    token_format: 'jwt' | 'opaque';
    grant_type: string;
    client_id: string;
    scope: string;
    audience: string;
    lifetime: number;
  },
): Promise<void> {
  await run(
    scope,
    {
      name: 'events.store_token_issued',
      short: { kind: 'write', key: 2 },
      text: `select store_token_issued($1, $2::uuid, $3::timestamptz, $4::uuid[], $5::uuid, $6, $7, $8, null, null, $9, $10, $11::integer, false)`,
    },
    [
      event.event_id,
      event.at,
      event.subscribers,
      event.jti,
      event.token_format,
      event.grant_type,
      event.client_id,
      event.scope,
      event.audience,
      event.lifetime,
    ],
  );
}

/** Where a JWT's user doesn't exist: no row, so that a replica that doesn't have the user yet isn't believed. */
const unknownUser: TokenStanding = { user_status: null, session_revoked_at: null, revoked: false };

const standing = `u.status as user_status, s.revoked_at as session_revoked_at`;

/** The opaque token of the digest with the state of its user, session and grant; null when there is none. */
export async function findAccessToken(scope: Scope, digest: Buffer): Promise<AccessTokenState | null> {
  const rows = await run<AccessTokenState>(
    scope,
    {
      name: 'access_tokens.find',
      short: 'look_up',
      text: `select t.jti, t.grant_id, t.client_id, t.user_id, t.session_id, t.scope, t.audience, t.claims, t.issued_at, t.expires_at,
               ${standing}, r.id is not null as revoked
             from access_tokens t
             left join users u on u.environment_id = t.environment_id and u.id = t.user_id
             left join sessions s on s.environment_id = t.environment_id and s.id = t.session_id
             left join revocations r on r.environment_id = t.environment_id and r.id = t.grant_id
             where t.environment_id = $1 and t.digest = $2`,
    },
    [digest],
  );
  return rows[0] ?? null;
}

/** The state of a JWT's user and session, and whether its `jti` or grant was revoked; null when the user doesn't exist. */
export async function findJwtStanding(
  scope: Scope,
  token: { ids: readonly string[]; user_id: string | null; session_id: string | null },
): Promise<TokenStanding> {
  const rows = await run<TokenStanding>(
    scope,
    {
      name: 'access_tokens.jwt_standing',
      short: 'look_up',
      text: `select ${standing},
               exists (select 1 from revocations r where r.environment_id = $1 and r.id = any ($2::uuid[])) as revoked
             from (select 1) as token
             left join users u on u.environment_id = $1 and u.id = $3::uuid
             left join sessions s on s.environment_id = $1 and s.id = $4::uuid
             where $3::uuid is null or u.id is not null`,
    },
    [token.ids, token.user_id, token.session_id],
  );
  return rows[0] ?? unknownUser;
}

/** What a look-up with claims hands back beside the token's standing. */
export type TokenUser = {
  /** Null for a client's own token, and where nothing asked for it. */
  user: UserWithRoles | null;
  /** Names of the permissions of the token's API resource that the user holds; empty without one. */
  permissions: string[];
};

type UserPart = { user_claims: UserClaimsJson | null; held: string[] };

const userPart = ({ user_claims, held }: UserPart): TokenUser => ({ user: userOfJson(user_claims), permissions: held });

/** When the person's claims are fetched: for userinfo, or only where a claim mapping may want them. */
export type ClaimsWanted = 'always' | 'mapped' | 'never';

/** The opaque token of the digest together with its user's claims and permissions, in one statement. */
export async function findAccessTokenWithUser(
  scope: Scope,
  digest: Buffer,
  { wanted, issuers }: { readonly wanted: ClaimsWanted; readonly issuers: readonly string[] },
): Promise<({ token: AccessTokenState } & TokenUser) | null> {
  const rows = await run<AccessTokenState & UserPart>(
    scope,
    {
      name: 'access_tokens.find_with_user',
      short: 'look_up',
      text: `select t.jti, t.grant_id, t.client_id, t.user_id, t.session_id, t.scope, t.audience, t.claims, t.issued_at, t.expires_at,
               ${standing}, r.id is not null as revoked,
               case when u.id is not null and ($3::text = 'always' or ($3::text = 'mapped' and m.maps)) then ${userClaimsSql({
                 metadata: 'm.maps',
                 roles: `m.maps or t.claims is not null or t.scope like '%roles%'`,
               })} end as user_claims,
               ${permissionsHeldSql({ user_id: 't.user_id', resource: 'm.resource' })} as held
             from access_tokens t
             left join users u on u.environment_id = t.environment_id and u.id = t.user_id
             left join sessions s on s.environment_id = t.environment_id and s.id = t.session_id
             left join revocations r on r.environment_id = t.environment_id and r.id = t.grant_id
             cross join lateral (
               select case when t.audience <> all ($4::text[]) then t.audience end as resource,
                 t.user_id is not null and $3::text <> 'never' and ${mapsClaimsSql('t.client_id', 't.audience')} as maps
               offset 0
             ) m
             where t.environment_id = $1 and t.digest = $2`,
    },
    [digest, wanted, issuers],
  );
  const row = rows[0];
  return row ? { token: row, ...userPart(row) } : null;
}

/** The same for a JWT: its standing, and its user's claims and permissions in one statement. */
export async function findJwtStandingWithUser(
  scope: Scope,
  token: { ids: readonly string[]; user_id: string | null; session_id: string | null; client_id: string; resource: string | null },
  wanted: ClaimsWanted,
): Promise<{ standing: TokenStanding } & TokenUser> {
  const rows = await run<TokenStanding & UserPart>(
    scope,
    {
      name: 'access_tokens.jwt_standing_with_user',
      short: 'look_up',
      text: `select ${standing},
               exists (select 1 from revocations r where r.environment_id = $1 and r.id = any ($2::uuid[])) as revoked,
               case when u.id is not null and ($7::text = 'always' or ($7::text = 'mapped' and m.maps))
                 then ${userClaimsSql({ metadata: 'm.maps', roles: 'true' })} end as user_claims,
               ${permissionsHeldSql({ user_id: '$3::uuid', resource: '$6::text' })} as held
             from (select 1) as token
             left join users u on u.environment_id = $1 and u.id = $3::uuid
             left join sessions s on s.environment_id = $1 and s.id = $4::uuid
             cross join lateral (
               select $3::uuid is not null and $7::text <> 'never' and ${mapsClaimsSql('$5::text', '$6::text')} as maps offset 0
             ) m
             where $3::uuid is null or u.id is not null`,
    },
    [token.ids, token.user_id, token.session_id, token.client_id, token.resource, wanted],
  );
  const [row] = rows;
  return row ? { standing: row, ...userPart(row) } : { standing: unknownUser, user: null, permissions: [] };
}

/** Deletes one opaque token; true when there was one. */
export async function deleteAccessToken(scope: Scope, digest: Buffer): Promise<boolean> {
  const rows = await run(
    scope,
    { name: 'access_tokens.delete', text: 'delete from access_tokens where environment_id = $1 and digest = $2 returning 1 as one' },
    [digest],
  );
  return rows.length > 0;
}
