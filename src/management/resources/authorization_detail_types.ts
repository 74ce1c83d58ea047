import { z } from 'zod';
import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import type { AuthorizationDetailTypeRow } from '../../db/tables/authorization_detail_types.js';
import {
  changeDetailType,
  createDetailType,
  detailTypeProblems,
  removeDetailType,
  type DetailTypeInput,
} from '../../domain/api-resources/detail-types.js';
import { noReach } from '../../domain/reach/reach.js';
import { detailFieldKinds } from '../../lib/authorization-details.js';
import { maxSentence, type DetailSentence } from '../../lib/detail-sentence.js';
import { languageTags } from '../../lib/languages/languages.js';
import { resource } from '../declaration.js';
import { equalTo, searchFilter, shownName, stamps, stampSorts, textSort, uniqueTexts, uuid } from '../fields.js';
import { toOne } from '../links.js';
import { scopeToken } from './permissions.js';

const status = z.enum(['enabled', 'disabled']);

const field = z.strictObject({
  name: z
    .string()
    .regex(/^(?!type$)[a-z][A-Za-z0-9_]{0,49}$/, 'must be letters, digits and underscores, of which the first is a small letter; not type'),
  kind: z.enum(detailFieldKinds),
  list: z.boolean().optional(),
  required: z.boolean().optional(),
  max: z.int().min(1).max(Number.MAX_SAFE_INTEGER).nullable().optional(),
  currency: z.string().length(3).optional(),
  choices: uniqueTexts(shownName(100), 50).min(1).optional(),
});

const sentence = z
  .partialRecord(z.enum(languageTags), z.string().min(1).max(maxSentence))
  .refine((texts) => Object.keys(texts).length > 0, { message: 'must be said in one language at least', params: { code: 'required' } })
  .meta({
    description:
      'What people are asked, by language: plain text in ICU MessageFormat with a placeholder for every field. In a language that has none they read the one of the environment’s language, else another.',
  }) as unknown as z.ZodType<DetailSentence>;

export const authorization_detail_types = resource<AuthorizationDetailTypeRow, DetailTypeInput, Omit<DetailTypeInput, 'name'>>({
  type: 'authorization_detail_type',
  path: 'authorization_detail_types',
  description:
    'Types of authorization details (RFC 9396): what clients may ask people for at an API beyond scopes, such as one payment, and the sentence by which people are asked. Whoever writes the sentence tells people what they allow: give the permission to those alone whom you would let do that.',
  attributes: z.object(stamps),
  // What an API makes of an object is its own; none is of the Management API.
  reach: { of: () => noReach },
  settable: {
    name: [
      'plain',
      scopeToken.meta({ description: 'The `type` in `authorization_details`; unique in the environment.' }),
      'needed and fixed',
    ],
    remember: [
      'plain',
      z.boolean().meta({
        description:
          'Whether people aren’t asked again about the same detail once they allowed it; of a client, the 50 that were allowed last.',
      }),
    ],
    fields: [
      'plain',
      z.array(field).min(1).max(20).meta({
        description:
          'What its objects may say, and nothing else: `kind` with `list`, `required`, and `max`: of a list its members, else the characters of a text, the number, or the amount in `currency`, which money with a `max` has, and which alone is taken where there is one. Money is `{"currency": "EUR", "amount": "12.50"}`, a date `2026-11-28`.',
      }),
      'needed',
    ],
    sentence: ['plain', sentence, 'needed'],
    status: [
      'plain',
      status.meta({
        description: 'Nobody may ask for details of a disabled type, and those that were allowed are worth nothing meanwhile.',
      }),
    ],
  },
  relationships: { api_resource: toOne('api_resource', 'The API that its details are for.', { create: 'required' }) },
  filters: {
    name: equalTo('name', scopeToken, 'The exact name.'),
    api_resource: equalTo('api_resource_id', uuid, 'Of one of these API resources (ids).'),
    status: equalTo('status', status, 'Enabled or disabled.'),
    search: searchFilter(['authorization_detail_types.name'], 'The name'),
  },
  sorts: { ...stampSorts('authorization_detail_types'), name: textSort('authorization_detail_types.name') },
  create: {
    problems: (_ctx, input) => detailTypeProblems(input),
    run: async (tx, _actor, input, related) => ({
      row: await createDetailType(tx, input, related['api_resource'] as unknown as ApiResourceRow),
    }),
  },
  update: {
    problems: (_ctx, input, { fields, sentence: texts }) => detailTypeProblems({ fields, sentence: texts, ...input }),
    run: async (tx, _actor, row, input) => ({ row: await changeDetailType(tx, row, input) }),
  },
  remove: { run: (tx, _actor, row) => removeDetailType(tx, row) },
  display: (type) => type.name,
});
