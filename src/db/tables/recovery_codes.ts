import { run, type Scope } from '../scope.js';

export async function insertRecoveryCodes(scope: Scope, authenticator_id: string, digests: readonly Buffer[]): Promise<void> {
  const text = `insert into recovery_codes (environment_id, authenticator_id, code_digest) select $1, $2, unnest($3::bytea[])`;
  await run(scope, { name: 'recovery_codes.insert', text }, [authenticator_id, [...digests]]);
}

/** Whether the set has such a code that is not spent. */
export async function hasRecoveryCode(scope: Scope, authenticator_id: string, code_digest: Buffer): Promise<boolean> {
  const text = `select 1 from recovery_codes where environment_id = $1 and authenticator_id = $2 and code_digest = $3 and used_at is null`;
  return (await run(scope, { name: 'recovery_codes.has', short: 'look_up', text }, [authenticator_id, code_digest])).length > 0;
}

/** Spends a code: true for one caller, false when the set has no such code, or it was spent before. One statement decides. */
export async function spendRecoveryCode(scope: Scope, authenticator_id: string, code_digest: Buffer, now: Date): Promise<boolean> {
  // The owner is held first, as by all who change authenticators: the row shows how many codes are left.
  const text = `with owner as materialized (
        select u.id from users u
        where u.environment_id = $1 and u.id = (select a.user_id from authenticators a where a.environment_id = $1 and a.id = $2)
        for update
      ), spent as (
        update recovery_codes set used_at = $4 from owner
        where environment_id = $1 and authenticator_id = $2 and code_digest = $3 and used_at is null
        returning authenticator_id
      )
      update authenticators a set codes_left = a.codes_left - 1
      from spent where a.environment_id = $1 and a.id = spent.authenticator_id
      returning a.id`;
  const rows = await run(scope, { name: 'recovery_codes.spend', text }, [authenticator_id, code_digest, now]);
  return rows.length > 0;
}

/** How many codes of the user's set are not spent; 0 without a set. */
export async function countRecoveryCodesLeft(scope: Scope, user_id: string): Promise<number> {
  const text = `select count(*) as left from recovery_codes c
      join authenticators a on a.environment_id = c.environment_id and a.id = c.authenticator_id
      where c.environment_id = $1 and a.user_id = $2 and c.used_at is null`;
  const rows = await run<{ left: string }>(scope, { name: 'recovery_codes.count_left', short: 'look_up', text }, [user_id]);
  return Number(rows[0]?.left ?? 0);
}
