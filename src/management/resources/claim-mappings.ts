import { z } from 'zod';
import { claimTargets, type ClaimMapping } from '../../db/tables/clients.js';
import { maxClaimMappings } from '../../domain/claims/claim-mappings.js';

const target = z.enum(claimTargets);

const mapping = z
  .strictObject({
    claim: z
      .string()
      .min(1)
      .max(200)
      .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be visible ASCII without quotes and backslash')
      .meta({ description: 'The name of the claim, such as `groups`. Claims of the protocol are reserved.' }),
    in: z
      .array(target)
      .min(1)
      .max(claimTargets.length)
      .refine((targets) => new Set(targets).size === targets.length, {
        message: 'must not hold a value twice',
        params: { code: 'duplicate_value' },
      })
      .meta({ description: 'Where it is shown.' }),
    source: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .meta({ description: 'What it is taken from: the name of a user attribute, `metadata.<path>`, `roles` or `permissions`.' }),
    value: z
      .union([z.string().max(1000), z.number(), z.boolean(), z.array(z.string().max(255)).max(50)])
      .optional()
      .meta({ description: 'Instead of a source: the same for everybody.' }),
  })
  .meta({ description: 'A claim under a name of your own; exactly one of `source` and `value`.' });

export const claimMappings = z.array(mapping).max(maxClaimMappings) as unknown as z.ZodType<ClaimMapping[]>;
