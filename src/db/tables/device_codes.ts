import type { Knex } from 'knex';
import type { Detail } from '../../lib/authorization-details.js';
import { remove, run, table, type Scope, type Statement } from '../scope.js';
import { runSystem } from '../system.js';
import { storeProofSql, type ProofUse } from './dpop_proofs.js';

/** A row of `device_codes`: a device (RFC 8628), or a client that asked a person elsewhere (CIBA Core 1.0), waits until a person answers. */
export type DeviceCodeRow = {
  environment_id: string;
  /** Of the code that the device holds. */
  digest: Buffer;
  /** Of the code that the person types, keyed; null where nothing is typed. */
  user_code_digest: Buffer | null;
  /** What the person is asked on a page of its own (CIBA); null: the person types the code of a device. */
  approval_id: string | null;
  client_id: string;
  scope: string;
  resource: string | null;
  /** What is asked for beyond scopes (RFC 9396), and once there is a yes, what of it was allowed; null: nothing was asked. */
  authorization_details: readonly Detail[] | null;
  /** The organization that the device asks for, by id or name as it wrote it. */
  organization: string | null;
  /** The one that the person signs in for. */
  organization_id: string | null;
  /** Where the device asked from. */
  ip_address: string | null;
  user_agent: string | null;
  created_at: Date;
  expires_at: Date;
  /** Seconds that the device has to wait between two questions. */
  interval_seconds: number;
  polled_at: Date | null;
  /** Whether the last question came before its time. */
  polled_too_soon: boolean;
  answered_at: Date | null;
  /** Null until there is an answer. */
  approved: boolean | null;
  grant_id: string | null;
  user_id: string | null;
  /** The device's own session. */
  session_id: string | null;
  auth_time: Date | null;
  acr: string | null;
  amr: string[] | null;
  used_at: Date | null;
  /** Of the request by which the device began; null for codes of an earlier release. */
  request_id: string | null;
};

export type NewDeviceCode = Pick<
  DeviceCodeRow,
  'digest' | 'user_code_digest' | 'client_id' | 'scope' | 'resource' | 'authorization_details' | 'organization' | 'ip_address' | 'user_agent' | 'created_at' | 'expires_at' | 'interval_seconds' | 'request_id'
>; // prettier-ignore

/** Stores a code; false, and nothing is stored, when another row has its user code. */
export async function insertDeviceCode(scope: Scope, row: NewDeviceCode): Promise<boolean> {
  const text = `
    insert into device_codes
      (environment_id, digest, user_code_digest, client_id, scope, resource, ip_address, user_agent, created_at, expires_at, interval_seconds,
       request_id, organization, authorization_details)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
    on conflict do nothing returning digest`;
  const rows = await run(scope, { name: 'device_codes.insert', short: { kind: 'write', key: 2 }, text }, [
    row.digest, row.user_code_digest, row.client_id, row.scope, row.resource, row.ip_address, row.user_agent, row.created_at, row.expires_at,
    row.interval_seconds, row.request_id, row.organization, row.authorization_details && JSON.stringify(row.authorization_details),
  ]); // prettier-ignore
  return rows.length > 0;
}

/** A code as the device that asks about it finds it. */
export type PolledDeviceCode = Pick<
  DeviceCodeRow,
  | 'client_id'
  | 'approval_id'
  | 'resource'
  | 'authorization_details'
  | 'organization_id'
  | 'answered_at'
  | 'approved'
  | 'used_at'
  | 'expires_at'
> & {
  /** The question came before its time; from now on the device waits longer. Never so once there is an answer. */
  too_soon: boolean;
};

/** Added to the interval by every question that comes too soon (RFC 8628 3.5). */
const slowDownSeconds = 5;
/** A question may come this much before its time, in seconds: networks and timers aren't exact. */
const toleranceSeconds = 0.5;

const tooSoonSql = `(d.polled_at is not null and $3 < d.polled_at + make_interval(secs => d.interval_seconds - ${toleranceSeconds}))`;

/**
 * The code of the digest, null when there is none. While it waits for an answer the question is noted, and one too soon lengthens the interval; only its
 * own client's. With a DPoP proof that was used before nothing is noted.
 */
export async function pollDeviceCode(
  scope: Scope,
  {
    digest,
    client_id,
    now,
    proof,
  }: { readonly digest: Buffer; readonly client_id: string; readonly now: Date; readonly proof: ProofUse | null },
): Promise<PolledDeviceCode | 'used proof' | null> {
  const values = [digest, now, client_id, ...(proof ? [proof.digest, proof.expires_at] : [])];
  const [row] = await run<PollRow>(scope, proof ? pollOnceStatement : pollStatement, values);
  if (row?.first_use === false) return 'used proof';
  return row && row.client_id !== null ? { ...row, client_id: row.client_id } : null;
}

type PollRow = Omit<PolledDeviceCode, 'client_id'> & { client_id: string | null; first_use?: boolean };

const pollText = (once: boolean) => `
    with ${once ? `proof as (${storeProofSql('$5', '$6')}),` : ''} polled as (
      update device_codes d set polled_at = $3, polled_too_soon = ${tooSoonSql},
        interval_seconds = d.interval_seconds + case when ${tooSoonSql} then ${slowDownSeconds} else 0 end
      where d.environment_id = $1 and d.digest = $2 and d.client_id = $4 and d.answered_at is null and d.expires_at > $3
        ${once ? 'and exists (select 1 from proof)' : ''}
      returning d.polled_too_soon
    )
    select c.client_id, c.approval_id, c.resource, c.authorization_details, c.organization_id, c.answered_at, c.approved, c.used_at, c.expires_at, coalesce(p.polled_too_soon, false) as too_soon
      ${once ? ', exists (select 1 from proof) as first_use' : ''}
    from (select 1) one
    left join device_codes c on c.environment_id = $1 and c.digest = $2
    left join polled p on true`;

const pollStatement: Statement = { name: 'device_codes.poll', short: { kind: 'write', key: 2 }, text: pollText(false) };

/** It may wait for the proof's row and for the code's: not beside other writes, which are in the order of one row each. */
const pollOnceStatement: Statement = { name: 'device_codes.poll_with_proof', text: pollText(true) };

/** A code that waits for its answer, as the person is asked about it. */
export type WaitingDeviceCode = Pick<
  DeviceCodeRow,
  'digest' | 'client_id' | 'scope' | 'resource' | 'authorization_details' | 'organization' | 'ip_address' | 'created_at'
>;

/** The waiting code with one of these digests of its user code, one for each SECRET_KEY; null when there is none. */
export async function findWaitingDeviceCode(
  scope: Scope,
  user_code_digests: readonly Buffer[],
  now: Date,
): Promise<WaitingDeviceCode | null> {
  const text = `
    select digest, client_id, scope, resource, authorization_details, organization, ip_address, created_at from device_codes
    where environment_id = $1 and user_code_digest = any ($2::bytea[]) and answered_at is null and expires_at > $3`;
  const rows = await run<WaitingDeviceCode>(scope, { name: 'device_codes.find_waiting', text }, [user_code_digests, now]);
  return rows[0] ?? null;
}

/** A person's yes: whose, what for, and the session that the device gets; null in the place of it: no. */
export type DeviceApproval = {
  readonly user_id: string;
  readonly grant_id: string;
  readonly session_id: string;
  readonly scope: string;
  readonly authorization_details: readonly Detail[] | null;
  readonly organization_id: string | null;
  readonly auth_time: Date | null;
  readonly acr: string;
  readonly amr: readonly string[];
};

/** Answers a code, once, by one update; null when it was answered before or has expired. */
export async function answerDeviceCode(
  scope: Scope,
  digest: Buffer,
  approval: DeviceApproval | null,
  now: Date,
): Promise<Pick<DeviceCodeRow, 'ip_address' | 'user_agent'> | null> {
  const text = `
    update device_codes set answered_at = $3, approved = $4, user_id = $5, grant_id = $6, session_id = $7, scope = coalesce($8, scope),
      auth_time = $9, acr = $10, amr = $11, organization_id = $12, authorization_details = coalesce($13::jsonb, authorization_details)
    where environment_id = $1 and digest = $2 and answered_at is null and expires_at > $3
    returning ip_address, user_agent`;
  const {
    user_id,
    grant_id,
    session_id,
    scope: granted,
    auth_time,
    acr,
    amr,
    organization_id,
    authorization_details: details,
  } = approval ?? ({} as Partial<DeviceApproval>);
  const values = [user_id, grant_id, session_id, granted, auth_time, acr, amr, organization_id, details && JSON.stringify(details)].map(
    (value) => value ?? null,
  );
  const rows = await run<Pick<DeviceCodeRow, 'ip_address' | 'user_agent'>>(scope, { name: 'device_codes.answer', text }, [
    digest,
    now,
    approval !== null,
    ...values,
  ]);
  return rows[0] ?? null;
}

/** What a device asked for and what its person answered, told together with the refusal of whoever brought the code. */
export type IssuedDeviceCode = Pick<
  DeviceCodeRow,
  | 'environment_id'
  | 'digest'
  | 'client_id'
  | 'scope'
  | 'resource'
  | 'request_id'
  | 'created_at'
  | 'answered_at'
  | 'approved'
  | 'approval_id'
>;

/** The device codes of the digests, in their environments, as far as they are known. */
export async function findIssuedDeviceCodes(
  knex: Knex,
  codes: readonly { readonly environment_id: string; readonly digest: Buffer }[],
): Promise<IssuedDeviceCode[]> {
  if (codes.length === 0) return [];
  const text = `
    select c.environment_id, c.digest, c.client_id, c.scope, c.resource, c.request_id, c.created_at, c.answered_at, c.approved, c.approval_id
    from unnest($1::uuid[], $2::bytea[]) as asked (environment_id, digest)
    join device_codes c on c.environment_id = asked.environment_id and c.digest = asked.digest`;
  const values = [codes.map((one) => one.environment_id), codes.map((one) => one.digest)];
  return runSystem<IssuedDeviceCode>(knex, { name: 'device_codes.find_issued', text }, values);
}

/** Ends codes, answered or not: those of a client, or for the API resource of an identifier. */
export async function deleteDeviceCodes(scope: Scope, of: { readonly client_id: string } | { readonly resource: string }): Promise<void> {
  await remove<DeviceCodeRow>(scope, 'device_codes', of);
}

export async function deleteAnsweredDeviceCodes(scope: Scope, client_id: string): Promise<void> {
  await table<DeviceCodeRow>(scope, 'device_codes').where({ client_id }).whereNotNull('answered_at').delete();
}

export async function removeScopeFromDeviceCodes(scope: Scope, resource: string, name: string): Promise<void> {
  const text = `update device_codes set scope = array_to_string(array_remove(string_to_array(scope, ' '), $3), ' ')
    where environment_id = $1 and resource = $2 and $3 = any (string_to_array(scope, ' '))`;
  await run(scope, { name: 'device_codes.remove_scope', text }, [resource, name]);
}
