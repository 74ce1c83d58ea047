import { z } from 'zod';
import {
  changeFederatedCredential,
  createFederatedCredential,
  credentialProblems,
  removeFederatedCredential,
  type FederatedCredentialInput,
} from '../../domain/workloads/federated-credentials.js';
import { reachOfFederatedCredential } from '../../domain/reach/reach-of.js';
import type { ClientRow } from '../../db/tables/clients.js';
import type { ClaimCondition, FederatedCredentialRow } from '../../db/tables/federated_credentials.js';
import type { TrustedIssuerRow } from '../../db/tables/trusted_issuers.js';
import { boundedText, equalTo, stamps, uniqueTexts, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';

const value = boundedText(500);
const claims = z
  .record(boundedText(200), z.union([value, uniqueTexts(value, 20).min(1), z.strictObject({ prefix: value })]))
  .refine((conditions) => Object.keys(conditions).length <= 20, {
    message: 'must not hold more than 20 conditions',
    params: { code: 'too_long' },
  })
  .meta({
    description:
      'What the tokens have to say: claim name to its text, a list of texts of which one must be it, or `{"prefix": "..."}` ending in `:` or `/`. Dots reach inside. One on `sub` or `repository_id` is compulsory.',
  });

export const federated_credentials = resource<
  FederatedCredentialRow,
  FederatedCredentialInput & { claims: Readonly<Record<string, ClaimCondition>> },
  FederatedCredentialInput
>({
  type: 'federated_credential',
  path: 'federated_credentials',
  description: 'Which tokens of a trusted issuer prove a client, in place of a secret (RFC 7523). Exactly one has to fit.',
  attributes: z.object(stamps),
  reach: { of: reachOfFederatedCredential },
  settable: {
    audience: ['control', boundedText(2048).meta({ description: '`aud` of the tokens: this environment’s issuer unless told otherwise.' })],
    claims: ['control', claims, 'needed'],
  },
  relationships: {
    client: toOne('client', 'What they prove.', { create: 'required' }),
    trusted_issuer: toOne('trusted_issuer', 'Whose tokens.', { create: 'required' }),
  },
  filters: {
    client: equalTo('client_id', boundedText(255), 'Of one of these clients (ids).'),
    trusted_issuer: equalTo('trusted_issuer_id', uuid, 'Of one of these issuers (ids).'),
  },
  create: {
    problems: (_ctx, input) => credentialProblems(input),
    async run(tx, _actor, input, related) {
      const [client, issuer] = [related['client'] as unknown as ClientRow, related['trusted_issuer'] as unknown as TrustedIssuerRow];
      return { row: await createFederatedCredential(tx, input, client, issuer) };
    },
  },
  update: {
    problems: (_ctx, input) => credentialProblems(input),
    run: async (tx, _actor, row, input) => ({ row: await changeFederatedCredential(tx, row, input) }),
  },
  remove: { run: (tx, _actor, row) => removeFederatedCredential(tx, row) },
  display: (credential) => credential.client_id,
});
