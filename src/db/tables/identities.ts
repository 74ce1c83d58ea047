import type { Knex } from 'knex';
import { rowFunctions } from '../records.js';
import { remove, run, table, update, type Scope } from '../scope.js';

/** A row of `identities`: an account at a provider, known by (connection, subject) and never by its address. */
export type IdentityRow = {
  environment_id: string;
  id: string;
  connection_id: string;
  subject: string;
  user_id: string;
  email: string | null;
  claims: Record<string, unknown>;
  /** The connection's generation in which the person proved the local account. */
  generation: number;
  last_login_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

/** An identity as it stands to its connection: one that isn't proven in the connection's present generation signs nobody in. */
export type KnownIdentity = IdentityRow & { readonly proven: boolean };

/** An identity with what pages show of its connection. */
export type IdentityWithConnection = KnownIdentity & {
  connection_display_name: string;
  connection_strategy: string;
  connection_status: 'enabled' | 'disabled';
  /** Whether clients may have tokens of it. */
  connection_token_storage: boolean;
};

/** The function of the database, which alone decides. */
const proven = 'is_proven(identities) as proven';

/** All identities of the environment, with whether they are proven: the rows of the API's list. */
export const visibleIdentities = (scope: Scope): Knex.QueryBuilder =>
  table<IdentityRow>(scope, 'identities').select(scope.knex.raw(proven)) as unknown as Knex.QueryBuilder;

export async function findIdentity(scope: Scope, connection_id: string, subject: string): Promise<KnownIdentity | null> {
  const row: unknown = await table<IdentityRow>(scope, 'identities')
    .where({ connection_id, subject } as never)
    .select('identities.*', scope.knex.raw(proven))
    .first();
  return (row as KnownIdentity | undefined) ?? null;
}

/** The user's identities with their connections, oldest first. */
export async function listIdentitiesOfUser(scope: Scope, user_id: string): Promise<IdentityWithConnection[]> {
  const rows: unknown = await table<IdentityRow>(scope, 'identities')
    .where('identities.user_id', user_id)
    .join('connections as c', (on) => on.on('c.environment_id', 'identities.environment_id').andOn('c.id', 'identities.connection_id'))
    .orderBy(['identities.created_at', 'identities.id'])
    .select(
      'identities.*',
      scope.knex.raw(proven),
      'c.display_name as connection_display_name',
      'c.strategy as connection_strategy',
      'c.status as connection_status',
      'c.token_storage as connection_token_storage',
    );
  return rows as IdentityWithConnection[];
}

/** Stores an identity; (connection, subject) is unique. */
export const { insert: insertIdentity } = rowFunctions<IdentityRow>('identities');

/** Stores what the provider said at a login; null when there is no such identity, of that user and generation where they are named. */
export const updateIdentity = async (
  scope: Scope,
  which: Pick<IdentityRow, 'id'> & Partial<Pick<IdentityRow, 'user_id' | 'generation'>>,
  changes: Partial<IdentityRow>,
): Promise<IdentityRow | null> => update<IdentityRow>(scope, 'identities', which, changes, false);

/**
 * Makes the user's identities void, but those of one connection: they belong to no generation any more, until the person proves the local account again.
 * Returns how many there were.
 */
export async function voidIdentitiesOfUser(scope: Scope, user_id: string, except_connection_id: string | null): Promise<number> {
  const text = `update identities set generation = 0 where environment_id = $1 and user_id = $2 and generation <> 0
      and ($3::uuid is null or connection_id <> $3) returning id`;
  const rows = await run<{ id: string }>(scope, { name: 'identities.void_of_user', text }, [user_id, except_connection_id]);
  return rows.length;
}

/** The accounts of these subjects, at any of the connections. */
export const findIdentitiesBySubjects = (
  scope: Scope,
  connection_ids: readonly string[],
  subjects: readonly string[],
): Promise<IdentityRow[]> =>
  table<IdentityRow>(scope, 'identities')
    .whereIn('connection_id', [...connection_ids])
    .whereIn('subject', [...subjects]) as unknown as Promise<IdentityRow[]>;

/** The accounts of each of the users at connections, by the connections' names. */
export async function listAccountsOfUsers(
  scope: Scope,
  user_ids: readonly string[],
): Promise<{ user_id: string; connection: string; subject: string }[]> {
  const rows: unknown = await table<IdentityRow>(scope, 'identities')
    .whereIn('identities.user_id' as never, [...user_ids])
    .join('connections as c', (on) => on.on('c.environment_id', 'identities.environment_id').andOn('c.id', 'identities.connection_id'))
    .orderBy(['identities.created_at', 'identities.id'])
    .select('identities.user_id', 'c.name as connection', 'identities.subject');
  return rows as { user_id: string; connection: string; subject: string }[];
}

/** Deletes an identity of the user; false when the user has none of this id. */
export const removeIdentity = async (scope: Scope, user_id: string, id: string): Promise<boolean> =>
  (await remove<IdentityRow>(scope, 'identities', { id, user_id })) > 0;
