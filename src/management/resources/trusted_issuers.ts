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
import { resource } from '../declaration.js';
import { toMany } from '../links.js';

const status = z.enum(['enabled', 'disabled']);

export const trusted_issuers = resource<TrustedIssuerRow, TrustedIssuerInput, TrustedIssuerInput>({
  type: 'trusted_issuer',
  path: 'trusted_issuers',
  description:
    'Platforms whose tokens prove workloads, so that these need no secret (RFC 7523). Keys come from the issuer’s own metadata unless `jwks_uri` or `jwks` is given.',
  attributes: z.object({
    last_error: z.string().nullable().meta({ description: 'Why its keys could not be had lately; null when they could.' }),
    last_error_at: isoTime.nullable(),
    ...stamps,
  }),
  reach: { of: reachOfTrustedIssuer },
  settable: {
    name: ['plain', shownName(100), 'needed'],
    issuer: ['control', webUrl.meta({ description: '`iss` of its tokens, character by character.' }), 'needed'],
    jwks_uri: ['control', webUrl.nullable()],
    jwks: ['control', publicKeySet.nullable()],
    status: ['control', status],
  },
  relationships: { federated_credentials: toMany('federated_credential', 'trusted_issuer_id', 'What rests on it.') },
  filters: {
    status: equalTo('status', status, 'Enabled or disabled.'),
    search: searchFilter(['trusted_issuers.name', 'trusted_issuers.issuer'], 'Name or issuer'),
  },
  sorts: { ...stampSorts('trusted_issuers'), name: textSort('trusted_issuers.name') },
  create: {
    problems: (ctx, input) => trustedIssuerProblems(ctx, input, null),
    run: async (tx, _actor, input) => ({ row: await createTrustedIssuer(tx, input) }),
  },
  update: {
    problems: (ctx, input, row) => trustedIssuerProblems(ctx, input, row),
    run: async (tx, _actor, row, input) => ({ row: await changeTrustedIssuer(tx, row, input) }),
  },
  remove: { run: (tx, _actor, row) => removeTrustedIssuer(tx, row) },
  display: (issuer) => issuer.name,
});
