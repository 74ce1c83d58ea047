import { run, type Scope } from '../scope.js';
import type { UserRow } from './users.js';

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
  return rows[0] ?? { user_status: null, session_revoked_at: null, revoked: false };
}

/** Columns of `users` from which claims are made. */
const claimColumns = [
  'email', 'email_verified', 'first_name', 'last_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture', 'website',
  'gender', 'birthdate', 'zoneinfo', 'locale', 'phone_number', 'phone_number_verified', 'address', 'updated_at',
] as const satisfies readonly (keyof UserRow)[]; // prettier-ignore

/** A user as userinfo shows it: what claims are made of, with the names of the roles. */
export type UserWithRoles = Pick<UserRow, (typeof claimColumns)[number]> & { role_names: string[] };

const userColumns = ['id as found_user_id', ...claimColumns].map((column) => `u.${column}`).join(', ');

const roleNames = `array(
  select ro.name from user_roles ur join roles ro on ro.environment_id = ur.environment_id and ro.id = ur.role_id
  where ur.environment_id = u.environment_id and ur.user_id = u.id order by ro.name)`;

type FoundUser = UserWithRoles & { found_user_id: string | null };

/** The user's part of a row, or null when the token has none. */
const userOf = (row: FoundUser): UserWithRoles | null => (row.found_user_id === null ? null : row);

/** The opaque token of the digest together with what userinfo shows of its user, in one statement. */
export async function findAccessTokenWithUser(
  scope: Scope,
  digest: Buffer,
): Promise<{ token: AccessTokenState; user: UserWithRoles | null } | null> {
  const rows = await run<AccessTokenState & FoundUser>(
    scope,
    {
      name: 'access_tokens.find_with_user',
      short: 'look_up',
      // Roles cost three more tables: they are looked up only where they can be asked for.
      text: `select t.jti, t.grant_id, t.client_id, t.user_id, t.session_id, t.scope, t.audience, t.claims, t.issued_at, t.expires_at,
               ${standing}, r.id is not null as revoked, ${userColumns},
               case when t.scope like '%roles%' or t.claims is not null then ${roleNames} else '{}' end as role_names
             from access_tokens t
             left join users u on u.environment_id = t.environment_id and u.id = t.user_id
             left join sessions s on s.environment_id = t.environment_id and s.id = t.session_id
             left join revocations r on r.environment_id = t.environment_id and r.id = t.grant_id
             where t.environment_id = $1 and t.digest = $2`,
    },
    [digest],
  );
  const row = rows[0];
  return row ? { token: row, user: userOf(row) } : null;
}

/** The same for a JWT: its standing and its user in one statement. */
export async function findJwtStandingWithUser(
  scope: Scope,
  token: { ids: readonly string[]; user_id: string | null; session_id: string | null },
): Promise<{ standing: TokenStanding; user: UserWithRoles | null }> {
  const rows = await run<TokenStanding & FoundUser>(
    scope,
    {
      name: 'access_tokens.jwt_standing_with_user',
      short: 'look_up',
      text: `select ${standing}, ${userColumns}, ${roleNames} as role_names,
               exists (select 1 from revocations r where r.environment_id = $1 and r.id = any ($2::uuid[])) as revoked
             from (select 1) as token
             left join users u on u.environment_id = $1 and u.id = $3::uuid
             left join sessions s on s.environment_id = $1 and s.id = $4::uuid`,
    },
    [token.ids, token.user_id, token.session_id],
  );
  const row = rows[0] as TokenStanding & FoundUser;
  return { standing: row, user: userOf(row) };
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
