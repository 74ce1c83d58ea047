import type { ConnectionRow } from '../../db/tables/connections.js';
import type { Actor } from '../actor.js';
import { previousAttributes } from '../changes.js';
import type { Context } from '../context.js';
import { actorData, connectionData } from './data.js';
import { emit } from './emit.js';

/** `connection.updated`, unless nothing has changed. Of another client secret it says that there is one. */
export async function emitConnectionUpdated(tx: Context, actor: Actor, before: ConnectionRow, after: ConnectionRow): Promise<void> {
  const shown = ({ provider_client_secret_sealed: _1, signals_token_sealed: _2, version: _3, generation: _4, ...rest }: ConnectionRow) =>
    rest;
  const previous_attributes = previousAttributes(shown(before), shown(after));
  const credentials_replaced = (['provider_client_secret_sealed', 'signals_token_sealed'] as const).some((name) => {
    const [was, is] = [before[name], after[name]];
    return was === null || is === null ? was !== is : !was.equals(is);
  });
  if (!credentials_replaced && Object.keys(previous_attributes).length === 0) return;
  const updated_by = actorData(actor);
  await emit(tx, 'connection.updated', { ...connectionData(after), previous_attributes, credentials_replaced, updated_by });
}
