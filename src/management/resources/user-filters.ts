import { z } from 'zod';
import { matches } from '../../db/lists/conditions.js';
import { authenticatorKinds } from '../../db/tables/authenticators.js';
import type { Filter } from '../resource.js';

/** `filter[authenticator]=passkey`: found from the authenticators, for a kind may be rare. */
export const hasAuthenticator: Filter = {
  description: 'Has an active authenticator of one of these kinds.',
  schema: z.enum(authenticatorKinds),
  condition: (_ctx, values) =>
    matches(
      `exists (select 1 from authenticators a where a.environment_id = users.environment_id and a.user_id = users.id
         and a.status = 'active' and a.kind = any (?::text[]))`,
      [values],
    ),
};
