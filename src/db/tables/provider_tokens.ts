import { rowFunctions } from '../records.js';
import { run, table, type Scope } from '../scope.js';
import { isBlockedSql } from './authorizations.js';
import { auditColumnsSql, type CountedAuditLogRow } from './audit_logs.js';
import { storeProofSql, type ProofUse } from './dpop_proofs.js';

export type ProviderAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'none';

/** A row of `provider_tokens`: what a person's account at a provider gave for one client; `tokens_sealed` is sealed for `provider_tokens/<id>`. */
export type ProviderTokenRow = {
  environment_id: string;
  id: string;
  identity_id: string;
  user_id: string;
  client_id: string;
  connection_id: string;
  scopes: string[];
  status: 'live' | 'lost';
  tokens_sealed: Buffer | null;
  /** Of the access token; null: it doesn't expire. */
  expires_at: Date | null;
  token_endpoint: string;
  revocation_endpoint: string | null;
  auth_method: ProviderAuthMethod;
  lease_id: string | null;
  leased_until: Date | null;
  granted_at: Date;
  last_used_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

/** What a client asks for, and for whom. */
export type RequestedToken = {
  readonly client_id: string;
  readonly connection_id: string;
  readonly user_id: string;
  /** Null: all that the grant of the client has. */
  readonly scopes: readonly string[] | null;
  /** Whether nobody is asked about the client. */
  readonly first_party: boolean;
  readonly client_digest: Buffer | null;
  readonly now: Date;
  /** Access tokens that expire before this are refreshed. */
  readonly fresh_until: Date;
  readonly audit: CountedAuditLogRow;
  readonly refresh: { readonly digest: Buffer; readonly expires_at: Date | null } | null;
  readonly proof: ProofUse | null;
};

/** What there is for it; `handed_out`: the token is fresh, and its use was recorded. */
export type TokenFound = Partial<
  Pick<ProviderTokenRow, 'id' | 'scopes' | 'tokens_sealed' | 'expires_at' | 'token_endpoint' | 'auth_method'>
> & {
  /** Of the enabled grant of the client; null without one. */
  readonly granted: string[] | null;
  readonly consented: boolean;
  /** Whether the person has blocked the client. */
  readonly blocked: boolean;
  readonly handed_out: boolean;
  readonly first_use?: boolean;
};

const handOutText = (once: boolean) => `
  with ${once ? `proof as (${storeProofSql('$14', '$15')}),` : ''} allowed as (
    select g.scopes, $6::boolean or exists (
      select from consents c where c.environment_id = $1 and c.user_id = $4::uuid and c.client_id = $2::text
        and c.client_digest is not distinct from $7::bytea) as consented
    from provider_grants g
    where g.environment_id = $1 and g.client_id = $2::text and g.connection_id = $3::uuid and g.status = 'enabled'
  ), kept as (
    select t.* from provider_tokens t
    join allowed a on a.consented and not ${isBlockedSql('$4::uuid', '$2::text')} and coalesce($5::text[], a.scopes) <@ a.scopes and coalesce($5::text[], a.scopes) <@ t.scopes
    join identities i on i.environment_id = t.environment_id and i.id = t.identity_id and is_proven(i)
    where t.environment_id = $1 and t.client_id = $2::text and t.connection_id = $3::uuid and t.user_id = $4::uuid and t.status = 'live'
    order by t.granted_at desc limit 1
  ), fresh as (
    select id from kept where (expires_at is null or expires_at >= $9::timestamptz) ${once ? 'and exists (select 1 from proof)' : ''}
  ), used as (
    update provider_tokens t set last_used_at = $8::timestamptz from fresh
    where t.environment_id = $1 and t.id = fresh.id and (t.last_used_at is null or t.last_used_at < $8::timestamptz - interval '1 hour')
  ), lasting as (
    update refresh_tokens set expires_at = least($12::timestamptz, grant_expires_at)
    where environment_id = $1 and digest = $11::bytea and $12::timestamptz is not null and $13::boolean ${once ? 'and exists (select 1 from proof)' : ''}
  ), audit as (
    insert into audit_logs (${auditColumnsSql})
    select ${auditColumnsSql} from jsonb_populate_recordset(null::audit_logs, $10::jsonb) entry
    where entry.environment_id = $1 and exists (select 1 from fresh)
  )
  select a.scopes as granted, coalesce(a.consented, false) as consented, ${isBlockedSql('$4::uuid', '$2::text')} as blocked, k.id, k.scopes, k.tokens_sealed, k.expires_at, k.token_endpoint, k.auth_method,
    exists (select 1 from fresh) as handed_out ${once ? ', exists (select 1 from proof) as first_use' : ''}
  from (select 1) as one left join allowed a on true left join kept k on true`;

const handOut = { name: 'provider_tokens.hand_out', text: handOutText(false) };
const handOutOnce = { name: 'provider_tokens.hand_out_with_proof', text: handOutText(true) };

/** Looks for the token, and records its use where it is fresh. One statement. */
export async function handOutProviderToken(scope: Scope, requested: RequestedToken): Promise<TokenFound> {
  const { proof, refresh } = requested;
  const [row] = await run<TokenFound>(scope, proof ? handOutOnce : handOut, [
    requested.client_id, requested.connection_id, requested.user_id, requested.scopes, requested.first_party, requested.client_digest, requested.now, requested.fresh_until,
    JSON.stringify([requested.audit]), refresh?.digest ?? null, refresh?.expires_at ?? null, refresh !== null,
    ...(proof ? [proof.digest, proof.expires_at] : []),
  ]); // prettier-ignore
  return row ?? { granted: null, consented: false, blocked: false, handed_out: false };
}

/** Takes the lease of an expired token, by the database's clock; null when another has it, or has refreshed it meanwhile. */
export async function leaseProviderToken(
  scope: Scope,
  { id, expires_at, lease_id, seconds }: { id: string; expires_at: Date | null; lease_id: string; seconds: number },
): Promise<Pick<ProviderTokenRow, 'tokens_sealed' | 'scopes' | 'revocation_endpoint'> | null> {
  const text = `update provider_tokens set lease_id = $4::uuid, leased_until = now() + make_interval(secs => $5::integer)
    where environment_id = $1 and id = $2::uuid and status = 'live' and expires_at is not distinct from $3::timestamptz
      and (leased_until is null or leased_until <= now())
    returning tokens_sealed, scopes, revocation_endpoint`;
  const rows = await run<Pick<ProviderTokenRow, 'tokens_sealed' | 'scopes' | 'revocation_endpoint'>>(
    scope,
    { name: 'provider_tokens.lease', text },
    [id, expires_at, lease_id, seconds],
  );
  return rows[0] ?? null;
}

/** Stores what a refresh gave, with the trace of its first use, and gives up the lease; false when the token was ended meanwhile, or the lease was lost. */
export async function storeRefreshedToken(
  scope: Scope,
  fresh: Pick<ProviderTokenRow, 'id' | 'scopes' | 'expires_at'> & {
    readonly lease_id: string;
    readonly tokens_sealed: Buffer;
    /** Null where nobody gets it now. */
    readonly audit: CountedAuditLogRow | null;
    readonly now: Date;
  },
): Promise<boolean> {
  const text = `with stored as (
      update provider_tokens set tokens_sealed = $4::bytea, scopes = $5::text[], expires_at = $6::timestamptz, last_used_at = $7::timestamptz,
        updated_at = $7::timestamptz, lease_id = null, leased_until = null
      where environment_id = $1 and id = $2::uuid and lease_id = $3::uuid and status = 'live' returning id
    ), audit as (
      insert into audit_logs (${auditColumnsSql})
      select ${auditColumnsSql} from jsonb_populate_recordset(null::audit_logs, $8::jsonb) entry
      where entry.environment_id = $1 and exists (select 1 from stored))
    select id from stored`;
  const { id, lease_id, tokens_sealed, scopes, expires_at, now, audit } = fresh;
  const values = [id, lease_id, tokens_sealed, scopes, expires_at, now, JSON.stringify(audit === null ? [] : [audit])];
  return (await run(scope, { name: 'provider_tokens.store_refreshed', text }, values)).length > 0;
}

/** Gives up the lease of a refresh that came to nothing. */
export async function releaseProviderToken(scope: Scope, id: string, lease_id: string): Promise<void> {
  const text =
    'update provider_tokens set lease_id = null, leased_until = null where environment_id = $1 and id = $2::uuid and lease_id = $3::uuid';
  await run(scope, { name: 'provider_tokens.release', text }, [id, lease_id]);
}

/** Notes that the provider takes the token no more; null when it was ended or granted anew meanwhile. */
export async function loseProviderToken(scope: Scope, id: string, lease_id: string, now: Date): Promise<ProviderTokenRow | null> {
  const text = `update provider_tokens set status = 'lost', tokens_sealed = null, expires_at = null, lease_id = null, leased_until = null, updated_at = $4
    where environment_id = $1 and id = $2::uuid and lease_id = $3::uuid and status = 'live' returning *`;
  return (await run<ProviderTokenRow>(scope, { name: 'provider_tokens.lose', text }, [id, lease_id, now]))[0] ?? null;
}

/** What a sign-in at the provider, or a person's grant, gave. */
export type ProviderTokenToKeep = Pick<
  ProviderTokenRow,
  | 'id' | 'identity_id' | 'user_id' | 'client_id' | 'connection_id' | 'scopes' | 'expires_at' | 'token_endpoint' | 'revocation_endpoint' | 'auth_method'
> & { readonly tokens_sealed: Buffer; readonly now: Date; readonly widens: boolean }; // prettier-ignore

/** The id of the row for the identity and client: what is sealed is bound to it. */
export async function findProviderTokenId(scope: Scope, identity_id: string, client_id: string): Promise<string | null> {
  const row: unknown = await table<ProviderTokenRow>(scope, 'provider_tokens')
    .where({ identity_id, client_id } as never)
    .select('id')
    .first();
  return (row as { id: string } | undefined)?.id ?? null;
}

/**
 * Stores it in the place of what was there; with `widens` false only what allows at least as much as a live one. False when it wasn't: the person is blocked,
 * the grant is gone, another row came in between.
 */
export async function keepProviderToken(scope: Scope, token: ProviderTokenToKeep): Promise<boolean> {
  const text = `insert into provider_tokens as t (environment_id, id, identity_id, user_id, client_id, connection_id, scopes, tokens_sealed, expires_at,
      token_endpoint, revocation_endpoint, auth_method, granted_at, created_at, updated_at)
    select $1::uuid, $2::uuid, i.id, i.user_id, g.client_id, g.connection_id, $7::text[], $8::bytea, $9::timestamptz, $10, $11, $12, $13::timestamptz,
      $13::timestamptz, $13::timestamptz
    from identities i
    join users u on u.environment_id = i.environment_id and u.id = i.user_id and u.status = 'active'
    join provider_grants g on g.environment_id = i.environment_id and g.connection_id = i.connection_id and g.client_id = $5::text and g.status = 'enabled'
    join connections c on c.environment_id = i.environment_id and c.id = i.connection_id and c.token_storage and c.generation = i.generation
    where i.environment_id = $1 and i.id = $3::uuid and i.user_id = $4::uuid and i.connection_id = $6::uuid and not ${isBlockedSql('i.user_id', 'g.client_id')}
    for share of u, g, c
    on conflict (environment_id, identity_id, client_id) do update set scopes = excluded.scopes, tokens_sealed = excluded.tokens_sealed,
      status = 'live', expires_at = excluded.expires_at, token_endpoint = excluded.token_endpoint, revocation_endpoint = excluded.revocation_endpoint,
      auth_method = excluded.auth_method, lease_id = null, leased_until = null, granted_at = excluded.granted_at, updated_at = excluded.updated_at
      where t.id = excluded.id and ($14::boolean or t.status = 'lost' or t.scopes <@ excluded.scopes)
    returning id`;
  const rows = await run(scope, { name: 'provider_tokens.keep', text }, [
    token.id, token.identity_id, token.user_id, token.client_id, token.connection_id, token.scopes, token.tokens_sealed, token.expires_at,
    token.token_endpoint, token.revocation_endpoint, token.auth_method, token.now, token.widens,
  ]); // prettier-ignore
  return rows.length > 0;
}

/** What the person's account page shows of them. */
export type OwnProviderToken = Pick<ProviderTokenRow, 'id' | 'identity_id' | 'client_id' | 'scopes' | 'granted_at' | 'last_used_at'> & {
  readonly client_name: string;
  readonly client_verified: boolean;
  readonly connection_name: string;
};

/** The live ones of the user with their clients, newest first. */
export async function listProviderTokensOfUser(scope: Scope, user_id: string): Promise<OwnProviderToken[]> {
  const text = `select t.id, t.identity_id, t.client_id, t.scopes, t.granted_at, t.last_used_at, c.name as client_name, c.verified as client_verified,
      o.display_name as connection_name
    from provider_tokens t join clients c on c.environment_id = t.environment_id and c.id = t.client_id
      join connections o on o.environment_id = t.environment_id and o.id = t.connection_id
    where t.environment_id = $1 and t.user_id = $2::uuid and t.status = 'live' order by t.granted_at desc, t.id`;
  return run<OwnProviderToken>(scope, { name: 'provider_tokens.of_user', text }, [user_id]);
}

/** Ends a live token, of the user where one is named: here at once, at the provider by the queue. False when there is none of this id. */
export async function endProviderToken(
  scope: Scope,
  { id, user_id, now }: { id: string; user_id: string | null; now: Date },
): Promise<boolean> {
  scope.touched.add('provider_tokens');
  const text = `with ended as (
      update provider_tokens t set status = 'lost', tokens_sealed = null, expires_at = null, lease_id = null, leased_until = null, updated_at = $4
      from (
        select id, tokens_sealed from provider_tokens
        where environment_id = $1 and id = $2::uuid and ($3::uuid is null or user_id = $3::uuid) and status = 'live' for update) before
      where t.environment_id = $1 and t.id = before.id
      returning t.id, t.connection_id, t.revocation_endpoint, t.auth_method, before.tokens_sealed
    ), queued as (
      insert into provider_token_revocations (environment_id, id, connection_id, token_id, revocation_endpoint, auth_method, provider_client_id,
        provider_client_secret_sealed, tokens_sealed, next_attempt_at, created_at)
      select $1, uuid_v7($4::timestamptz), c.id, e.id, e.revocation_endpoint, e.auth_method, c.provider_client_id, c.provider_client_secret_sealed,
        e.tokens_sealed, now(), $4::timestamptz
      from ended e join connections c on c.environment_id = $1 and c.id = e.connection_id where e.revocation_endpoint is not null returning id
    )
    select (select count(*) from ended) > 0 as ended,
      case when exists (select 1 from queued) then notify_after_commit('outbox', 'provider_revocation') end`;
  const [row] = await run<{ ended: boolean }>(scope, { name: 'provider_tokens.end', text }, [id, user_id, now]);
  return row?.ended === true;
}

export const { find: findProviderToken } = rowFunctions<ProviderTokenRow>('provider_tokens');
