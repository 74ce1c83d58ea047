import { z } from 'zod';
import { applicationTypes } from '../../db/tables/clients.js';

const text = z.string();
const nullable = z.string().nullable();
const time = z.iso.datetime();

/** What the data of several event types have in common. */
export const shapes = {
  text,
  nullable,
  time,
  uuid: z.uuid(),
  previous: { previous_attributes: z.record(z.string(), z.unknown()) },
  client: {
    id: text,
    client_id: text,
    name: text,
    application_type: z.enum(applicationTypes),
    token_endpoint_auth_method: text,
    redirect_uris: z.array(text),
    grant_types: z.array(text),
    scopes: z.array(text).nullable(),
    first_party: z.boolean(),
    status: z.enum(['enabled', 'disabled']),
    created_at: time,
    updated_at: time,
  },
  actor: z.object({ actor_kind: z.enum(['user', 'client', 'system']), actor_id: nullable }),
};
