import { lifetime } from '../fields.js';
import type { Settable } from '../declaration.js';

const day = 86_400;
const [unusedClient, unusedAuthorization] = [
  'How long an unverified client that came by itself stays without consent and refresh token, in seconds; null = for ever.',
  'How long an authorization lasts that its client does not use, in seconds; the person is told by mail. null = for ever.',
];

/** Of an environment: how long what nobody uses stays. */
export const unusedLifetimes = {
  // Shorter, it removes clients, which takes `clients:write` by hand.
  unused_client_lifetime: [
    'everything',
    lifetime(3600, 3650 * day)
      .nullable()
      .meta({ description: unusedClient }),
  ],
  // Shorter, it takes from people's applications what they allowed.
  unused_authorization_lifetime: [
    'everything',
    lifetime(day, 3650 * day)
      .nullable()
      .meta({ description: unusedAuthorization }),
  ],
} as const satisfies Readonly<Record<string, Settable>>;
