import { z } from 'zod';
import {
  apiResourceInputProblems,
  changeApiResource,
  createApiResource,
  removeApiResource,
  type ApiResourceInput,
} from '../../domain/api-resources/api-resources.js';
import { wwwAuthenticateOf, metadataUrlOf } from '../../domain/api-resources/metadata.js';
import { reachOfApiResource, removedWithApiResource } from '../../domain/reach/reach-of.js';
import { requiredAcrs } from '../../db/tables/environments.js';
import { assertionAccesses, tokenTyps, userAccesses, userScopes, type ApiResourceRow } from '../../db/tables/api_resources.js';
import { equalTo, lifetime, searchFilter, shownName, stamps, stampSorts, textSort, uniqueTexts, webUrl } from '../fields.js';
import { isResourceIdentifier } from '../../lib/resource-identifier.js';
import { signingAlgorithms } from '../../lib/signing-algorithm.js';
import { resource } from '../declaration.js';
import { toMany } from '../links.js';
import { claimMappings } from './claim-mappings.js';
import { scopeToken } from './permissions.js';

/** RFC 8707 2: an absolute URI without fragment. */
const identifier = z
  .string()
  .min(1)
  .max(2048)
  .refine(isResourceIdentifier, {
    message: 'must be an absolute URI without fragment (RFC 8707 2)',
    params: { code: 'invalid_identifier' },
  });

export const api_resources = resource<ApiResourceRow, ApiResourceInput, ApiResourceInput>({
  type: 'api_resource',
  path: 'api_resources',
  description: 'APIs that access tokens are issued for (RFC 8707). The built-in one is this Management API.',
  attributes: z.object({
    signing_algorithm: z.enum(signingAlgorithms).meta({ description: 'The same as `signing_alg`.' }),
    metadata_url: z.string().meta({ description: 'Where its metadata is (RFC 9728); the service hosts it.' }),
    challenge_header: z.string().meta({
      description: 'What the API answers with 401 in `WWW-Authenticate`, so that clients find the metadata, and with it this service.',
    }),
    is_system: z.boolean(),
    ...stamps,
  }),
  computed: {
    signing_algorithm: (row) => row.signing_alg,
    metadata_url: (row, { environment }) => metadataUrlOf(environment, row),
    challenge_header: (row, { environment }) => wwwAuthenticateOf(environment, row),
  },
  reach: { of: reachOfApiResource, removed: removedWithApiResource },
  settable: {
    // When it is nobody's.
    identifier: ['plain', identifier, 'needed and fixed'],
    // What people read when they are asked for its permissions.
    name: ['control', shownName(100), 'needed'],
    token_format: ['control', z.enum(['jwt', 'opaque'])],
    access_token_lifetime: ['control', lifetime(60, 86_400)],
    user_access: [
      'control',
      z.enum(userAccesses).meta({
        description:
          'Which clients may ask people for its tokens: every one (`open`), or those with a client grant of `subject_type` `user` (`granted`; always so for the Management API).',
      }),
    ],
    token_typ: [
      'control',
      z.enum(tokenTyps).meta({
        description:
          '`typ` in the header of its JWTs: `at+jwt` (RFC 9068), or `JWT` for libraries that take nothing else. With `JWT` nothing in the header tells an access token from an ID token: an API that does not compare `aud` with its own identifier takes ID tokens for access tokens, and a client that does not compare `aud` with its own client_id takes access tokens for ID tokens.',
      }),
    ],
    user_scopes: [
      'control',
      z.enum(userScopes).meta({
        description:
          "What of its scopes a person's token holds: those that were asked for (`requested`), or those of them that the person's roles hold, all of these when none was asked for (`held`).",
      }),
    ],
    // What its API is told of people.
    claim_mappings: [
      'reach and control',
      claimMappings.meta({
        description: 'Claims under names of your own in its access tokens (`in` is `access_token`); they go before those of the client.',
      }),
    ],
    signing_alg: [
      'control',
      z.enum(signingAlgorithms).meta({ description: 'What its JWTs are signed with: one of the `signing_algorithms` of the environment.' }),
    ],
    dpop_bound_access_tokens: [
      'control',
      z
        .boolean()
        .meta({ description: 'Whether its tokens have to be bound to a key: they are then given out for a DPoP proof only (RFC 9449).' }),
    ],
    allow_unverified_clients: [
      'control',
      z.boolean().meta({
        description: 'Whether unverified clients can get its tokens, within `user_access`; never for the Management API.',
      }),
    ],
    agent_claims: [
      'control',
      z.boolean().meta({
        description:
          'Whether its access tokens, and introspection, tell that an agent acts: for a person by `act` {`sub`, `client_id`, `sub_profile` `ai_agent`}, for itself by `client_profile` `ai_agent`.',
      }),
    ],
    assertion_access: [
      'reach and control',
      z.enum(assertionAccesses).meta({
        description:
          'Which clients get its tokens for identity assertions (ID-JAG): none (`off`), those whose grant of `subject_type` `user` says `assertions` (`granted`), or verified ones that may ask people for it too (`verified`). Never for the Management API.',
      }),
    ],
    // What people are asked for on behalf of clients that don't say.
    default_scopes: [
      'control',
      uniqueTexts(scopeToken, 100).meta({
        description:
          "Permissions of it that a person's authorization holds when none of them was asked for, and that its metadata recommends; empty = none, and all of them.",
      }),
    ],
    // Where the metadata send developers, those of the Management API too.
    documentation_url: [
      'control',
      webUrl.nullable().meta({ description: 'For developers of clients; in its metadata (`resource_documentation`); null = none.' }),
    ],
    required_acr: [
      'control',
      z
        .enum(requiredAcrs)
        .nullable()
        .meta({ description: 'The class that people need for its tokens: `2` = a second factor, `phr` = a passkey; null = none.' }),
    ],
    max_authentication_age: [
      'control',
      lifetime(1, 365 * 86_400)
        .nullable()
        .meta({
          description:
            'How old the proofs of the person may be, in seconds, when tokens for it are asked for; null = as old as the session.',
        }),
    ],
  },
  relationships: {
    permissions: toMany('permission', 'api_resource_id', 'Its scopes.', { include: true }),
    authorization_detail_types: toMany('authorization_detail_type', 'api_resource_id', 'What clients may ask for at it beyond scopes.'),
    client_grants: toMany('client_grant', 'api_resource_id', 'Which clients may call it for themselves, or ask people for its scopes.'),
  },
  filters: {
    identifier: { ...equalTo('identifier', z.string().min(1).max(2048), 'The exact identifier.'), list: false },
    search: searchFilter(['api_resources.name', 'api_resources.identifier'], 'Name or identifier'),
  },
  sorts: { ...stampSorts('api_resources'), name: textSort('api_resources.name'), identifier: textSort('api_resources.identifier') },
  create: {
    problems: (ctx, input) => apiResourceInputProblems(ctx, input),
    run: async (tx, _actor, input) => ({ row: await createApiResource(tx, input) }),
  },
  update: {
    problems: (ctx, input) => apiResourceInputProblems(ctx, input),
    run: async (tx, _actor, row, input) => ({ row: await changeApiResource(tx, row, input) }),
  },
  remove: { run: (tx, _actor, row) => removeApiResource(tx, row) },
  display: (one) => one.identifier,
});
