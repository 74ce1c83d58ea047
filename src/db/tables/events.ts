import { run, table, type Scope } from '../scope.js';

/** Stores an event and its deliveries; without `subscribers` the database looks for the webhooks that want it. */
export async function storeEvent(
  scope: Scope,
  event: { id: string; type: string; at: Date; body: string; subscribers: readonly string[] | null },
): Promise<void> {
  await run(scope, { name: 'events.store', text: 'select store_event($1, $2::uuid, $3, $4::timestamptz, $5, $6::uuid[])' }, [
    event.id,
    event.type,
    event.at,
    event.body,
    event.subscribers,
  ]);
}

/** Ids of the enabled webhooks that asked for the event type by name. */
export async function listSubscribers(scope: Scope, type: string): Promise<string[]> {
  const rows = await table<{ id: string }>(scope, 'webhooks')
    .where({ status: 'enabled' } as never)
    .whereRaw('? = any(events)', [type])
    .select('id');
  return (rows as { id: string }[]).map((row) => row.id);
}
