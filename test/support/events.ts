import { createSealer } from '../../src/lib/seal.js';
import { uuidv7 } from '../../src/lib/random.js';
import type { TestService } from './service.js';

export type StoredEvent = { event: string; event_id: string; timestamp: string; environment_id: string; data: Record<string, unknown> };

/** An enabled webhook on an address that nobody listens at, so that events of these types are stored. */
export async function subscribe(service: TestService, events: string[]): Promise<void> {
  const ctx = await service.context();
  const now = ctx.clock.now();
  const id = uuidv7(now.getTime());
  const secret = Buffer.from('whsec_unused');
  await ctx.db.knex('webhooks').insert({
    environment_id: ctx.environment.id,
    id,
    name: 'Recorder',
    url: 'https://recorder.invalid/',
    events,
    secret_sealed: createSealer(service.secretKey).seal(secret.toString(), `webhooks/${id}`),
    secret_hint: 'used',
    created_at: now,
    updated_at: now,
  });
}

/** The stored events about the user, oldest first. */
export async function eventsOf(service: TestService, user_id: string): Promise<StoredEvent[]> {
  const rows = (await service.deps.db.knex('events').orderBy('id').select('body')) as { body: string }[];
  return rows.map((row) => JSON.parse(row.body) as StoredEvent).filter((event) => event.data['id'] === user_id);
}
