import type { Knex } from 'knex';
import { runSystem } from '../system.js';

/** A row of `secret_keys`: a SECRET_KEY by its id, or `unnamed` for what was sealed before values named their key. */
export type SecretKeyRow = {
  id: string;
  sealing_since: Date | null;
  sealing_seen_at: Date | null;
  pending_count: number;
  emptied_at: Date | null;
  created_at: Date;
};

export type SecretKeyHolder = { readonly id: string; readonly sealing_key: string; readonly opening_keys: readonly string[] };

/** Seconds after its last heartbeat from which a process counts as gone. */
const holderLifetimeSeconds = 90;

/**
 * Writes the process's heartbeat and its keys. The newest key, by when a process first sealed with it, is the one that everything is resealed with;
 * an older one becomes the newest again when no process has sealed with a later one for ten minutes.
 * @returns whether it became the newest just now, in place of another one
 */
export async function announceSecretKeys(knex: Knex, { id, sealing_key, opening_keys }: SecretKeyHolder): Promise<boolean> {
  const text = `with holder as (
        insert into secret_key_holders (id, sealing_key, opening_keys, seen_at) values ($1, $2, $3, now())
        on conflict (id) do update set seen_at = now()
      ), gone as (
        delete from secret_key_holders where seen_at < now() - interval '1 day'
      ), earlier as (
        insert into secret_keys (id) select key from unnest($3::text[]) as key where key <> $2 order by key on conflict (id) do nothing
      )
      insert into secret_keys as k (id, sealing_since, sealing_seen_at) values ($2, now(), now())
      on conflict (id) do update set sealing_seen_at = now(), emptied_at = null, sealing_since =
        case when k.sealing_since is null
          or exists (select 1 from secret_keys o where o.sealing_since > k.sealing_since)
            and not exists (select 1 from secret_keys o
              where o.sealing_since > k.sealing_since and o.sealing_seen_at > now() - interval '10 minutes')
        then now() else k.sealing_since end
      returning k.sealing_since = now() and exists (select 1 from secret_keys o where o.id <> $2 and o.sealing_since is not null) as changed`;
  const [row] = await runSystem<{ changed: boolean }>(knex, { name: 'secret_keys.announce', text }, [id, sealing_key, opening_keys]);
  return row?.changed ?? false;
}

/** Deletes the heartbeat of a process that ends, so that others don't wait for it. */
export async function removeSecretKeyHolder(knex: Knex, id: string): Promise<void> {
  const text = `with gone as (delete from secret_key_holders where id = $1) select notify_after_commit('outbox', 'secret_keys')`;
  await runSystem(knex, { name: 'secret_keys.remove_holder', text }, [id]);
}

/** All known keys, the one that was sealed with last first. */
export const listSecretKeys = async (knex: Knex): Promise<SecretKeyRow[]> =>
  knex<SecretKeyRow>('secret_keys').orderByRaw('sealing_since desc nulls last, created_at, id');

export const listSecretKeyHolders = async (knex: Knex): Promise<SecretKeyHolder[]> =>
  knex<SecretKeyHolder & { seen_at: Date }>('secret_key_holders')
    .whereRaw(`seen_at > now() - make_interval(secs => ?)`, [holderLifetimeSeconds])
    .select('id', 'sealing_key', 'opening_keys');

/**
 * Notes how many values each key has sealed. A key other than `sealing_key` that has none, and that no process seals with, is emptied.
 * @returns the keys that are so now and weren't before
 */
export async function noteSealedCounts(knex: Knex, sealing_key: string, counts: ReadonlyMap<string, number>): Promise<SecretKeyRow[]> {
  const text = `with counted as (
        select * from unnest($1::text[], $2::bigint[]) as c (id, count)
      ), lost as (
        insert into secret_keys (id, pending_count) select id, count from counted on conflict (id) do nothing
      ), noted as (
        select k.id, k.emptied_at as before, coalesce(c.count, 0) as count,
          coalesce(c.count, 0) = 0 and k.id <> $3 and not exists (
            select 1 from secret_key_holders h where h.sealing_key = k.id and h.seen_at > now() - make_interval(secs => $4)) as empty
        from secret_keys k left join counted c on c.id = k.id
      ), changed as (
        update secret_keys k set pending_count = n.count, emptied_at = case when n.empty then coalesce(k.emptied_at, now()) end
        from noted n where n.id = k.id
        returning k.*, n.before
      )
      select * from changed where emptied_at is not null and before is null`;
  return runSystem<SecretKeyRow>(knex, { name: 'secret_keys.note_counts', text }, [
    [...counts.keys()],
    [...counts.values()],
    sealing_key,
    holderLifetimeSeconds,
  ]);
}

/** Whether values without a key id exist and were first recorded less than `seconds` ago, so that processes of older releases may still run. */
export async function awaitsUpgrade(knex: Knex, seconds: number): Promise<boolean> {
  const text = `select 1 from secret_keys where id = 'unnamed' and pending_count > 0 and created_at > now() - make_interval(secs => $1)`;
  return (await runSystem(knex, { name: 'secret_keys.awaits_upgrade', text }, [seconds])).length > 0;
}
