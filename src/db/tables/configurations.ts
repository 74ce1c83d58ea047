import { holdLock, run, table, type Scope } from '../scope.js';

/** A record as the document left it: `attributes` are those that it manages, without secrets. */
export type ManagedRecord = {
  readonly type: string;
  readonly id: string;
  /** What the document calls it. */
  readonly key: string;
  readonly attributes: Readonly<Record<string, unknown>>;
};

/** A row of `configurations`: the document that was last applied to the environment. */
export type ConfigurationRow = {
  environment_id: string;
  document: Readonly<Record<string, unknown>>;
  pruned: boolean;
  records: readonly ManagedRecord[];
  applied_at: Date;
  actor_kind: 'user' | 'client' | 'system';
  actor_id: string | null;
  actor_display: string;
  request_id: string;
};

/** The document that was last applied, or null. */
export const findConfiguration = async (scope: Scope): Promise<ConfigurationRow | null> =>
  (await table<ConfigurationRow>(scope, 'configurations').first()) ?? null;

/** Who applied the document that manages a record, when. */
export type Managing = Pick<ConfigurationRow, 'applied_at' | 'actor_display'>;

/** Which of the records of a type the document that was last applied manages. */
export async function findManaged(scope: Scope, type: string, ids: readonly string[]): Promise<{ ids: string[] } & Managing> {
  const text = `select r.id, c.applied_at, c.actor_display
      from configurations c cross join lateral jsonb_to_recordset(c.records) as r (type text, id text)
      where c.environment_id = $1 and r.type = $2 and r.id = any($3::text[])`;
  const rows = await run<{ id: string } & Managing>(scope, { name: 'configurations.managed', text }, [type, [...ids]]);
  const [first] = rows;
  return { ids: rows.map(({ id }) => id), applied_at: first?.applied_at ?? new Date(0), actor_display: first?.actor_display ?? '' };
}

/** Stores the document in the place of the one before. */
export async function saveConfiguration(scope: Scope, row: Omit<ConfigurationRow, 'environment_id'>): Promise<void> {
  const text = `insert into configurations (environment_id, document, pruned, records, applied_at, actor_kind, actor_id, actor_display, request_id)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      on conflict (environment_id) do update set document = excluded.document, pruned = excluded.pruned, records = excluded.records,
        applied_at = excluded.applied_at, actor_kind = excluded.actor_kind, actor_id = excluded.actor_id,
        actor_display = excluded.actor_display, request_id = excluded.request_id`;
  await run(scope, { name: 'configurations.save', text }, [
    JSON.stringify(row.document),
    row.pruned,
    JSON.stringify(row.records),
    row.applied_at,
    row.actor_kind,
    row.actor_id,
    row.actor_display,
    row.request_id,
  ]);
}

/** Holds the environment's configuration until the transaction ends, so that documents are applied one after the other. @throws {LockTaken} */
export const lockConfiguration = (scope: Scope): Promise<void> => holdLock(scope, 'configuration');
