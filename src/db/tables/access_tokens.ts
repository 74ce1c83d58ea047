import { run, type Scope, type Statement } from '../scope.js';
import { permissionsHeldSql } from './permissions.js';
import { userColumnsSql, userOfRow, type UserColumns, type UserWithRoles } from './user_claims.js';

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
  /** Issued on the strength of another token (RFC 8693), and who acts for the person. */
  exchanged: boolean;
  act: Record<string, unknown> | null;
  /** How and when the person signed in; null for a client's own token, and where it isn't known. */
  acr: string | null;
  amr: string[] | null;
  auth_time: Date | null;
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
    grant_type: string;
  },
): Promise<void> {
  const { lifetime, issued_at } = token;
  const expires_at = new Date(issued_at.getTime() + lifetime * 1000);
  const values = [token.digest, token.jti, token.client_id, token.scope, token.audience, issued_at, expires_at];
  if (token.subscribers.length === 0) await run(scope, insertForClient, values);
  else await run(scope, insertForClientWithEvent, [...values, token.subscribers, token.event_id, lifetime, token.grant_type]);
}

const insertForClientText = `insert into access_tokens (environment_id, digest, jti, client_id, scope, audience, issued_at, expires_at)
                             values ($1, $2, $3::uuid, $4, $5, $6, $7, $8)`;

const insertForClient = { name: 'access_tokens.insert_for_client', short: { kind: 'write', key: 2 }, text: insertForClientText } as const;

const insertForClientWithEvent = {
  name: 'access_tokens.insert_for_client_with_event',
  short: { kind: 'write', key: 2 },
  text: `with access as (${insertForClientText} returning *)
         select store_token_issued($1, $10::uuid, issued_at, $9::uuid[], $3::uuid, 'opaque', $12::text, client_id, null, null,
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

/** The same of the token `t`, by functions: neither table is touched for a token that has no user and no session. */
const standingByFunctions = `
  case when t.user_id is not null then user_status($1::uuid, t.user_id) end as user_status,
  case when t.session_id is not null then session_revoked_at($1::uuid, t.session_id) end as session_revoked_at`;

/**
 * What a look-up brings beside the token's standing: nothing, the permissions of its API resource that the user holds, or those and the user without
 * metadata.
 */
export type Beside = 'nothing' | 'permissions' | 'user';

/** What a look-up brought. */
export type TokenUser = {
  /** Null for a client's own token, and where it wasn't asked for. */
  user: UserWithRoles | null;
  /** Names of permissions; empty without an API resource. Null where they weren't asked for. */
  permissions: string[] | null;
};

type BesideColumns = UserColumns & { held: string[] };

const besideOf = (row: Partial<BesideColumns>, beside: Beside): TokenUser => ({
  user: beside === 'user' ? userOfRow(row as BesideColumns) : null,
  permissions: row.held ?? null,
});

/** One statement for each kind of answer: most tokens need the smallest. */
function lookUps(name: string, text: (columns: string, beside: Beside) => string, held: string, roles: string): Record<Beside, Statement> {
  const heldColumn = `, ${held} as held`;
  const columns: Record<Beside, string> = { nothing: '', permissions: heldColumn, user: `${heldColumn}, ${userColumnsSql(roles)}` };
  const statement = (beside: Beside): Statement => ({ name: `${name}_${beside}`, short: 'look_up', text: text(columns[beside], beside) });
  return { nothing: statement('nothing'), permissions: statement('permissions'), user: statement('user') };
}

const peopleOfToken = `
    left join users u on u.environment_id = t.environment_id and u.id = t.user_id
    left join sessions s on s.environment_id = t.environment_id and s.id = t.session_id`;

const opaqueLookUps = lookUps(
  'access_tokens.find_with',
  (columns, beside) => `
    select t.jti, t.grant_id, t.client_id, t.user_id, t.session_id, t.scope, t.audience, t.claims, t.acr, t.amr, t.auth_time, t.exchanged, t.act,
      t.issued_at, t.expires_at, ${beside === 'user' ? standing : standingByFunctions}, r.id is not null as revoked${columns}
    from access_tokens t ${beside === 'user' ? peopleOfToken : ''}
    left join revocations r on r.environment_id = t.environment_id and r.id = t.grant_id
    where t.environment_id = $1 and t.digest = $2`,
  // Of this service's own endpoints nobody holds permissions.
  permissionsHeldSql({ user_id: 't.user_id', resource: 'case when t.audience <> all ($3::text[]) then t.audience end' }),
  `t.claims is not null or t.scope like '%roles%'`,
);

/**
 * The opaque token of the digest with the state of its user, session and grant; null when there is none.
 * @param issuers of the environment: a token for one of them is for no API resource
 */
export async function findAccessToken(
  scope: Scope,
  digest: Buffer,
  beside: Beside = 'nothing',
  issuers: readonly string[] = [],
): Promise<({ token: AccessTokenState } & TokenUser) | null> {
  const values = beside === 'nothing' ? [digest] : [digest, issuers];
  const [row] = await run<AccessTokenState & Partial<BesideColumns>>(scope, opaqueLookUps[beside], values);
  return row ? { token: row, ...besideOf(row, beside) } : null;
}

/** The standing of a client's own JWT. It names no table of people's, so that nobody who locks one keeps clients waiting. */
async function findOwnJwtStanding(scope: Scope, ids: readonly string[]): Promise<TokenStanding> {
  const text = `select null as user_status, null as session_revoked_at,
                  exists (select 1 from revocations where environment_id = $1 and id = any ($2::uuid[])) as revoked`;
  const rows = await run<TokenStanding>(scope, { name: 'access_tokens.own_jwt_standing', short: 'look_up', text }, [ids]);
  return rows[0] as TokenStanding;
}

const jwtLookUps = lookUps(
  'access_tokens.jwt_standing_with',
  (columns) => `
    select ${standing},
      exists (select 1 from revocations r where r.environment_id = $1 and r.id = any ($2::uuid[])) as revoked${columns}
    from (select 1) as token
    left join users u on u.environment_id = $1 and u.id = $3::uuid
    left join sessions s on s.environment_id = $1 and s.id = $4::uuid
    where $3::uuid is null or u.id is not null`,
  permissionsHeldSql({ user_id: '$3::uuid', resource: '$5::text' }),
  'true',
);

/**
 * The state of a JWT's user and session, and whether its `jti` or grant was revoked; {@link unknownUser} when the user doesn't exist.
 * @param token `resource`: the identifier of its API resource, null for this service's own endpoints
 */
export async function findJwtStanding(
  scope: Scope,
  token: { ids: readonly string[]; user_id: string | null; session_id: string | null; resource: string | null },
  beside: Beside = 'nothing',
): Promise<{ standing: TokenStanding } & TokenUser> {
  const { ids, user_id, session_id, resource } = token;
  const none = beside === 'nothing' ? null : [];
  if (user_id === null && session_id === null) return { standing: await findOwnJwtStanding(scope, ids), user: null, permissions: none };
  const values = beside === 'nothing' ? [ids, user_id, session_id] : [ids, user_id, session_id, resource];
  const [row] = await run<TokenStanding & Partial<BesideColumns>>(scope, jwtLookUps[beside], values);
  return row ? { standing: row, ...besideOf(row, beside) } : { standing: unknownUser, user: null, permissions: none };
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
