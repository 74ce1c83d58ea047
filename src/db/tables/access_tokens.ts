import type { Detail } from '../../lib/authorization-details.js';
import { run, type Scope, type Statement } from '../scope.js';
import { storeProofSql, type ProofUse } from './dpop_proofs.js';
import { memberStandsSql, permissionsHeldSql } from './permissions.js';
import { actingEndedSql } from './revocations.js';
import { userColumnsSql, userOfRow, type UserColumns, type UserWithRoles } from './user_claims.js';

/** A stored (opaque) access token, with the state of its user, session and grant. */
export type AccessTokenState = {
  jti: string;
  grant_id: string | null;
  client_id: string;
  user_id: string | null;
  session_id: string | null;
  /** Of whom it is for as a member; null: nobody's member. */
  organization_id: string | null;
  scope: string;
  audience: string;
  claims: Record<string, unknown> | null;
  /** Issued on the strength of another token (RFC 8693), and who acts for the person. */
  exchanged: boolean;
  act: Record<string, unknown> | null;
  /** The scope that it had at other API resources, by their identifiers, before it was exchanged for this. */
  earlier_scopes: Record<string, string> | null;
  /** What was allowed beyond scopes (RFC 9396); null: nothing was asked for. */
  authorization_details: readonly Detail[] | null;
  /** The thumbprint of the key that it is bound to (RFC 9449 6). */
  jkt: string | null;
  /** How and when the person signed in; null for a client's own token, and where it isn't known. */
  acr: string | null;
  amr: string[] | null;
  auth_time: Date | null;
  issued_at: Date;
  expires_at: Date;
} & TokenStatus;

export type TokenStatus = {
  user_status: 'active' | 'blocked' | null;
  session_revoked_at: Date | null;
  /** False for a token of an organization that is disabled, or whose active member the user no longer is, or was not throughout. */
  member_stands: boolean;
  revoked: boolean;
};

/** Where a JWT's user doesn't exist: no row, so that a replica that doesn't have the user yet isn't believed. */
const unknownUser: TokenStatus = { user_status: null, session_revoked_at: null, member_stands: true, revoked: false };

const statusColumns = `u.status as user_status, s.revoked_at as session_revoked_at`;

/** SQL: {@link TokenStatus.member_stands}. */
export const memberColumn = (of: Parameters<typeof memberStandsSql>[0]) => `${memberStandsSql(of)} as member_stands`;

/** The same of the token `t`, by functions: neither table is touched for a token that has no user and no session. */
const statusByFunctions = `
  case when t.user_id is not null then user_status($1::uuid, t.user_id) end as user_status,
  case when t.session_id is not null then session_revoked_at($1::uuid, t.session_id) end as session_revoked_at`;

/**
 * What a look-up brings besides the token's status: nothing, the permissions of its API resource that the user holds, or those and the user without
 * metadata.
 */
export type TokenExtras = 'nothing' | 'permissions' | 'user';

export type TokenUser = {
  /** Null for a client's own token, and where it wasn't asked for. */
  user: UserWithRoles | null;
  /** Names of permissions; empty without an API resource. Null where they weren't asked for. */
  permissions: string[] | null;
};

type ExtraColumns = UserColumns & { held: string[] };

const userIn = (row: Partial<ExtraColumns>, extras: TokenExtras) => (extras === 'user' ? userOfRow(row as ExtraColumns) : null);

/** The DPoP proof that a token is presented with, if its use has to be stored, and the key that it proves. */
export type ProofToStore = { readonly use: ProofUse; readonly jkt: string };

const proofValues = ({ use }: ProofToStore) => [use.digest, use.expires_at];

/** Of a statement that stores the use of a proof: whether it was the first. */
const isFirstUse = 'exists (select 1 from proof) as first_use';

/** A look-up that stores the use of a proof by the statement `stored`, whose parameters begin with the number `at`. */
const storing = (stored: string, at: number, text: string): Pick<Statement, 'short' | 'text'> => ({
  short: { kind: 'write', key: at },
  text: `with proof as (${stored}) ${text}`,
});

/** One statement for each kind of answer: most tokens need the smallest. `proven` stores the use of a proof too (`from`: what that depends on). */
function lookUps(
  name: string,
  text: (columns: string, extras: TokenExtras) => string,
  { held, roles, organization_id, proofAt, from }: { held: string; roles: string; organization_id: string; proofAt: number; from: string },
): Record<TokenExtras | 'proven', Statement> {
  const heldColumn = `, ${held} as held`;
  const columns: Record<TokenExtras, string> = {
    nothing: '',
    permissions: heldColumn,
    user: `${heldColumn}, ${userColumnsSql(roles, organization_id)}`,
  };
  const statement = (extras: TokenExtras): Statement => ({
    name: `${name}_${extras}`,
    short: 'look_up',
    text: text(columns[extras], extras),
  });
  const stored = storeProofSql(`$${proofAt}`, `$${proofAt + 1}`, from);
  return {
    nothing: statement('nothing'),
    permissions: statement('permissions'),
    user: statement('user'),
    proven: { name: `${name}_proven`, ...storing(stored, proofAt, text(`${columns.user}, ${isFirstUse}`, 'user')) },
  };
}

const peopleOfToken = `
    left join users u on u.environment_id = t.environment_id and u.id = t.user_id
    left join sessions s on s.environment_id = t.environment_id and s.id = t.session_id`;

const opaqueLookUps = lookUps(
  'access_tokens.find_with',
  (columns, extras) => `
    select t.jti, t.grant_id, t.client_id, t.user_id, t.session_id, t.organization_id, t.scope, t.audience, t.claims, t.jkt, t.acr, t.amr, t.auth_time, t.exchanged, t.act,
      t.earlier_scopes, t.authorization_details, t.issued_at, t.expires_at, ${extras === 'user' ? statusColumns : statusByFunctions},
      ${memberColumn({ user_id: 't.user_id', organization_id: 't.organization_id', issued_at: 't.issued_at' })}, 
      r.id is not null or ${actingEndedSql} as revoked${columns}
    from access_tokens t ${extras === 'user' ? peopleOfToken : ''}
    left join revocations r on r.environment_id = t.environment_id and r.id = t.grant_id
    where t.environment_id = $1 and t.digest = $2`,
  {
    // Of this service's own endpoints nobody holds permissions.
    held: permissionsHeldSql({
      user_id: 't.user_id',
      resource: 'case when t.audience <> all ($3::text[]) then t.audience end',
      organization_id: 't.organization_id',
    }),
    organization_id: 't.organization_id',
    roles: `t.claims is not null or t.scope like '%roles%'`,
    proofAt: 4,
    // Strangers, and those who hold another key, fill no table.
    from: 'from access_tokens where environment_id = $1 and digest = $2 and jkt = $6::text',
  },
);

/**
 * The opaque token of the digest with the state of its user, session and grant; null when there is none.
 * @param issuers of the environment: a token for one of them is for no API resource
 */
export async function findAccessToken(
  scope: Scope,
  digest: Buffer,
  extras: TokenExtras = 'nothing',
  issuers: readonly string[] = [],
): Promise<({ token: AccessTokenState } & TokenUser & FirstUse) | null> {
  const values = extras === 'nothing' ? [digest] : [digest, issuers];
  const [row] = await run<AccessTokenState & Partial<ExtraColumns>>(scope, opaqueLookUps[extras], values);
  return row ? { token: row, first_use: true, user: userIn(row, extras), permissions: row.held ?? null } : null;
}

/** Whether the proof, whose use has been stored, was used for the first time; true where none had to be stored. */
export type FirstUse = { readonly first_use: boolean };

/** The same with the user, for a token that is presented with a proof. That is stored if the token is bound to the proof's key. */
export async function findProvenAccessToken(
  scope: Scope,
  digest: Buffer,
  issuers: readonly string[],
  proof: ProofToStore,
): Promise<({ token: AccessTokenState } & TokenUser & FirstUse) | null> {
  const values = [digest, issuers, ...proofValues(proof), proof.jkt];
  const [row] = await run<AccessTokenState & Partial<ExtraColumns> & FirstUse>(scope, opaqueLookUps.proven, values);
  return row ? { token: row, first_use: row.first_use, user: userIn(row, 'user'), permissions: row.held ?? null } : null;
}

const ownJwtStatusText = (more = '') => `
  select null as user_status, null as session_revoked_at, true as member_stands,
    exists (select 1 from revocations where environment_id = $1 and id = any ($2::uuid[])) as revoked${more}`;

/** The status of a client's own JWT. It names no table of people's, so that nobody who locks one keeps clients waiting. */
const ownJwtStatus = {
  plain: { name: 'access_tokens.own_jwt_status', short: 'look_up', text: ownJwtStatusText() },
  proven: { name: 'access_tokens.own_jwt_status_proven', ...storing(storeProofSql('$3', '$4'), 3, ownJwtStatusText(`, ${isFirstUse}`)) },
} as const satisfies Record<string, Statement>;

const jwtLookUps = lookUps(
  'access_tokens.jwt_status_with',
  (columns) => `
    select ${statusColumns}, ${memberColumn({ user_id: '$3::uuid', organization_id: '$5::uuid', issued_at: '$6::timestamptz' })},
      exists (select 1 from revocations r where r.environment_id = $1 and r.id = any ($2::uuid[])
        and (r.issued_until is null or r.issued_until >= $6::timestamptz)) as revoked${columns}
    from (select 1) as token
    left join users u on u.environment_id = $1 and u.id = $3::uuid
    left join sessions s on s.environment_id = $1 and s.id = $4::uuid
    where $3::uuid is null or u.id is not null`,
  {
    held: permissionsHeldSql({ user_id: '$3::uuid', resource: '$7::text', organization_id: '$5::uuid' }),
    organization_id: '$5::uuid',
    roles: 'true',
    proofAt: 8,
    from: '',
  },
);

/** What the status of a JWT depends on; `resource`: the identifier of its API resource, null for this service's own endpoints. */
export type JwtStatusKeys = {
  readonly ids: readonly string[];
  readonly user_id: string | null;
  readonly session_id: string | null;
  readonly organization_id: string | null;
  readonly issued_at: Date;
  readonly resource: string | null;
};

const isOwn = ({ user_id, session_id }: JwtStatusKeys) => user_id === null && session_id === null;

/** The state of a JWT's user and session, and whether its `jti` or grant was revoked; {@link unknownUser} when the user doesn't exist. */
export async function findJwtStatus(
  scope: Scope,
  token: JwtStatusKeys,
  extras: TokenExtras = 'nothing',
): Promise<{ status: TokenStatus } & TokenUser> {
  const { ids, user_id, session_id, organization_id, issued_at, resource } = token;
  if (isOwn(token)) {
    const [own] = await run<TokenStatus>(scope, ownJwtStatus.plain, [ids]);
    return { status: own as TokenStatus, user: null, permissions: extras === 'nothing' ? null : [] };
  }
  const values = [ids, user_id, session_id, organization_id, issued_at, ...(extras === 'nothing' ? [] : [resource])];
  const [row] = await run<TokenStatus & Partial<ExtraColumns>>(scope, jwtLookUps[extras], values);
  return row
    ? { status: row, user: userIn(row, extras), permissions: row.held ?? null }
    : { status: unknownUser, user: null, permissions: extras === 'nothing' ? null : [] };
}

/** The same with the user, for a token that is presented with a proof of the key that it is bound to. */
export async function findProvenJwtStatus(
  scope: Scope,
  token: JwtStatusKeys,
  proof: ProofToStore,
): Promise<{ status: TokenStatus } & TokenUser & FirstUse> {
  const { ids, user_id, session_id, organization_id, issued_at, resource } = token;
  const own = isOwn(token);
  const values = own ? [ids] : [ids, user_id, session_id, organization_id, issued_at, resource];
  const statement = own ? ownJwtStatus.proven : jwtLookUps.proven;
  const [row] = await run<TokenStatus & Partial<ExtraColumns> & FirstUse>(scope, statement, [...values, ...proofValues(proof)]);
  if (!row) return { status: unknownUser, user: null, permissions: [], first_use: true };
  const [user, permissions] = own ? [null, []] : [userIn(row, 'user'), row.held ?? null];
  return { status: row, first_use: row.first_use, user, permissions };
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
