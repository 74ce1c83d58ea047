import { z } from 'zod';
import {
  changeTrustedIssuer,
  createTrustedIssuer,
  removeTrustedIssuer,
  trustedIssuerProblems,
  type TrustedIssuerInput,
} from '../../domain/workloads/trusted-issuers.js';
import { publicKeySet } from '../../domain/clients/key-set.js';
import { reachOfTrustedIssuer } from '../../domain/reach/reach-of.js';
import type { TrustedIssuerRow } from '../../db/tables/trusted_issuers.js';
import { equalTo, isoTime, searchFilter, shownName, stamps, stampSorts, textSort, webUrl } from '../fields.js';
import { resource } from '../resource.js';
import { environmentLink } from './environment-link.js';

const status = z.enum(['enabled', 'disabled']);
const name = shownName(100);
const settable = { jwks_uri: webUrl.nullable().optional(), jwks: publicKeySet.nullable().optional(), status: status.optional() };

/** Issuers outside whose tokens prove workloads. */
export const trusted_issuers = resource<TrustedIssuerRow, TrustedIssuerInput, TrustedIssuerInput>({
  type: 'trusted_issuer',
  path: 'trusted_issuers',
  title: 'Trusted issuers',
  description:
    'Platforms whose tokens prove workloads, so that these need no secret (RFC 7523). Keys come from the issuer’s own metadata unless `jwks_uri` or `jwks` is given.',
  source: { table: 'trusted_issuers', key: 'id', keyType: 'uuid' },
  attributes: z.object({
    name: z.string(),
    issuer: z.string().meta({ description: '`iss` of its tokens, character by character.' }),
    jwks_uri: z.string().nullable(),
    jwks: z.record(z.string(), z.unknown()).nullable(),
    status,
    last_error: z.string().nullable().meta({ description: 'Why its keys could not be had lately; null when they could.' }),
    last_error_at: isoTime.nullable(),
    ...stamps,
  }),
  reach: {
    of: reachOfTrustedIssuer,
    attributes: { name: 'plain', issuer: 'control', jwks_uri: 'control', jwks: 'control', status: 'control' },
  },
  relationships: {
    federated_credentials: {
      kind: 'many',
      to: 'federated_credential',
      by: { foreign: 'trusted_issuer_id' },
      description: 'What rests on it.',
    },
    environment: environmentLink,
  },
  filters: {
    status: equalTo('status', status, 'Enabled or disabled.'),
    search: searchFilter(['lower(trusted_issuers.name)', 'lower(trusted_issuers.issuer)'], 'Name or issuer begins with this.'),
  },
  sorts: { ...stampSorts('trusted_issuers'), name: textSort('trusted_issuers.name') },
  create: {
    schema: z.strictObject({ name, issuer: webUrl, ...settable }),
    problems: (ctx, input) => trustedIssuerProblems(ctx, input, null),
    run: async (tx, _actor, input) => ({ row: await createTrustedIssuer(tx, input) }),
  },
  update: {
    schema: z.strictObject({ name: name.optional(), issuer: webUrl.optional(), ...settable }),
    problems: (ctx, input, row) => trustedIssuerProblems(ctx, input, row),
    run: async (tx, _actor, row, input) => ({ row: await changeTrustedIssuer(tx, row, input) }),
  },
  remove: { run: (tx, _actor, row) => removeTrustedIssuer(tx, row) },
  display: (issuer) => issuer.name,
});
