import { unfit } from '../../domain/refusal.js';
import { z } from 'zod';
import { fullReach } from '../../domain/reach/reach.js';
import { activateKey, deactivateKey, publishNextKey, requireKeyCapacity } from '../../domain/signing-keys/operations.js';
import { generateSigningKey, type NewSigningKey } from '../../domain/signing-keys/signing-keys.js';
import type { SigningKeyRow } from '../../db/tables/signing_keys.js';
import { signingAlgorithms, type SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { equalTo, stamps, isoTime } from '../fields.js';
import { resource } from '../declaration.js';

const status = z.enum(['next', 'primary', 'previous', 'deactivated']);

export const signing_keys = resource<SigningKeyRow, { algorithm?: SigningAlgorithm }>({
  type: 'signing_key',
  path: 'signing_keys',
  description:
    'The keys that sign tokens. The id is the kid (RFC 7638). The service rotates them every 90 days by itself, those of each algorithm apart.',
  source: { key: 'kid', keyType: 'text' },
  attributes: z.object({
    status,
    public_jwk: z.record(z.string(), z.unknown()),
    thumbprint: z.string().meta({ description: 'The SHA-256 thumbprint (RFC 7638), which is the id.' }),
    activated_at: isoTime.nullable(),
    retired_at: isoTime.nullable(),
    deactivated_at: isoTime.nullable(),
    ...stamps,
  }),
  computed: { thumbprint: (key) => key.kid },
  // Everybody trusts what a key signs, but the service alone holds the private half: making one, or letting it sign, gives nothing to anybody.
  // Taking one away ends what it signed for everybody.
  reach: { of: () => fullReach, create: 'plain' },
  settable: { algorithm: ['plain', z.enum(signingAlgorithms)] },
  filters: {
    algorithm: equalTo('algorithm', z.enum(signingAlgorithms), 'What it signs with.'),
    status: equalTo('status', status, 'Next, primary, previous or deactivated.'),
  },
  create: {
    problems: (ctx, { algorithm = 'RS256' }) =>
      ctx.environment.signing_algorithms.includes(algorithm)
        ? []
        : [unfit('algorithm', 'signing_algorithm_unavailable', `This environment does not sign with ${algorithm}.`)],
    prepare: (ctx, _actor, { algorithm = 'RS256' }) => generateSigningKey(ctx, algorithm),
    async run(tx, _actor, { algorithm = 'RS256' }, _related, key) {
      await requireKeyCapacity(tx, algorithm);
      return { row: await publishNextKey(tx, key as NewSigningKey) };
    },
  },
  actions: {
    activate: {
      method: 'PATCH',
      description: 'Lets the next key sign from now on; the primary one becomes previous and stays published.',
      audit: 'activated',
      touch: 'plain',
      run: async (tx, _actor, row) => ({ row: await activateKey(tx, row) }),
    },
    deactivate: {
      method: 'PATCH',
      description: 'Takes a key that is not primary out of the published set: what it signed is refused.',
      audit: 'deactivated',
      touch: 'control',
      run: async (tx, _actor, row) => ({ row: await deactivateKey(tx, row, 'manual') }),
    },
  },
  display: (key) => key.kid,
});
