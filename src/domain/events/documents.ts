import { z } from 'zod';
import { catalogue, eventTypes, type EventType } from './catalogue.js';
import { sampleEnvelope, samples } from './samples.js';

/** An event type as it is documented: what it means, the JSON Schema of its `data`, and a whole payload as an example. */
export type EventTypeDocument = {
  readonly id: EventType;
  readonly description: string;
  /** The kind of record that it is about: the part of the name before the dot. */
  readonly group: string;
  readonly payload_schema: Readonly<Record<string, unknown>>;
  readonly example: {
    readonly event: EventType;
    readonly event_id: string;
    readonly timestamp: string;
    readonly environment_id: string;
    readonly data: unknown;
  };
};

/** Every event type of the catalogue, documented, in its order. Additive changes only: receivers may get further members. */
export function eventTypeDocuments(): readonly EventTypeDocument[] {
  return eventTypes.map((id) => ({
    id,
    description: catalogue[id].description,
    group: id.slice(0, id.indexOf('.')),
    payload_schema: z.toJSONSchema(catalogue[id].data, { io: 'input' }),
    example: { event: id, ...sampleEnvelope, data: samples[id] },
  }));
}
