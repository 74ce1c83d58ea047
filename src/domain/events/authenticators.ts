import type { AuthenticatorRow } from '../../db/tables/authenticators.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { actorData } from './data.js';
import { emit, emitAll } from './emit.js';

type Shown = Pick<AuthenticatorRow, 'id' | 'user_id' | 'kind' | 'name'>;
type Doer = Pick<Actor, 'actor_kind' | 'actor_id'>;

const shown = ({ id, user_id, kind, name }: Shown) => ({ id, user_id, kind, name });

export async function emitAuthenticatorCreated(tx: Context, by: Doer, row: Shown): Promise<void> {
  const created_at = tx.clock.now().toISOString();
  await emit(tx, 'authenticator.created', { ...shown(row), created_by: actorData(by), created_at });
}

/** `authenticator.deleted` of each that was in use: of one that waited for its first code nobody heard. */
export async function emitAuthenticatorsDeleted(tx: Context, by: Doer, rows: readonly AuthenticatorRow[]): Promise<void> {
  const deleted_at = tx.clock.now().toISOString();
  const used = rows.filter(({ status }) => status === 'active');
  const data = used.map((row) => ({ ...shown(row), deleted_by: actorData(by), deleted_at }));
  await emitAll(tx, 'authenticator.deleted', data);
}
