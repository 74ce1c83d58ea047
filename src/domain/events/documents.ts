import { z } from 'zod';
import { catalogue, eventTypes, groupOfEvent, type EventType } from './catalogue.js';
import { sampleEnvelope, samples } from './samples.js';

/** An event type as it is documented: what it means, the JSON Schema of its `data`, and a whole payload as an example. */
export type EventTypeDocument = {
  readonly id: EventType;
  readonly description: string;
  /** What the reference says besides. */
  readonly details: string | null;
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

const detailsOf = (entry: { readonly description: string; readonly details?: string }): string | null => entry.details ?? null;

/** Every event type of the catalogue, documented, in its order. Additive changes only: receivers may get further members. */
export const eventTypeDocuments = (): readonly EventTypeDocument[] =>
  eventTypes.map((id) => ({
    id,
    description: catalogue[id].description,
    details: detailsOf(catalogue[id]),
    group: groupOfEvent(id),
    payload_schema: z.toJSONSchema(catalogue[id].data, { io: 'input' }),
    example: { event: id, ...sampleEnvelope, data: samples[id] },
  }));
