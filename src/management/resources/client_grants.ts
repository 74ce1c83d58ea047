import { z } from 'zod';
import { changeClientGrant, createClientGrant, removeClientGrant } from '../../domain/grants/client-grants.js';
import { noReach, requireReach } from '../../domain/reach/reach.js';
import { reachOfClientGrant } from '../../domain/reach/reach-of.js';
import type { ApiResourceRow } from '../../db/tables/api_resources.js';
import { subjectTypes, tokenExchanges, type ClientGrantRow, type SubjectType, type TokenExchange } from '../../db/tables/client_grants.js';
import type { ClientRow } from '../../db/tables/clients.js';
import { equalTo, stamps, boundedText, uniqueTexts, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toOne } from '../links.js';
import { scopeToken } from './permissions.js';

type Exchange = { token_exchange?: TokenExchange; subject_audiences?: string[]; assertions?: boolean };

export const client_grants = resource<
  ClientGrantRow,
  { scopes: string[]; subject_type?: SubjectType } & Exchange,
  { scopes?: string[] } & Exchange
>({
  type: 'client_grant',
  path: 'client_grants',
  description:
    'Which scopes of an API resource a client may have for itself (`subject_type` `client`: client credentials), or may ask people for (`user`: needed for this Management API, and where the resource’s `user_access` is `granted`). One of each type. `token_exchange` of the type `user` lets it exchange people’s tokens (RFC 8693), of itself or of `subject_audiences`; with `assertions` it brings identity assertions of people (ID-JAG).',
  attributes: z.object(stamps),
  reach: { of: reachOfClientGrant },
  settable: {
    scopes: ['reach', uniqueTexts(scopeToken, 200), 'needed'],
    subject_type: ['reach', z.enum(subjectTypes), 'fixed'],
    token_exchange: ['reach and control', z.enum(tokenExchanges)],
    subject_audiences: ['control', uniqueTexts(boundedText(2048), 50)],
    assertions: ['reach and control', z.boolean()],
  },
  relationships: {
    client: toOne('client', 'Who may.', { create: 'required' }),
    api_resource: toOne('api_resource', 'What for.', { create: 'required' }),
  },
  filters: {
    client: equalTo('client_id', boundedText(512), 'Of one of these clients (ids).'),
    api_resource: equalTo('api_resource_id', uuid, 'For one of these API resources (ids).'),
    subject_type: equalTo('subject_type', z.enum(subjectTypes), 'Of this type: for itself, or to ask people for.'),
  },
  create: {
    async run(tx, _actor, input, related) {
      const [client, api] = [related['client'] as unknown as ClientRow, related['api_resource'] as unknown as ApiResourceRow];
      return { row: await createClientGrant(tx, input, client, api) };
    },
  },
  update: {
    async run(tx, actor, row, input) {
      // Other scopes of a grant that acts for people unasked are as much as the policy itself, whatever the reach was before.
      const reach =
        input.scopes === undefined || (row.token_exchange === 'none' && !row.assertions) ? noReach : await reachOfClientGrant(tx, row);
      requireReach(actor, { before: reach, after: reach, touched: [{ touch: 'control', at: { attribute: 'scopes' } }] });
      return { row: await changeClientGrant(tx, row, input) };
    },
  },
  remove: { run: (tx, _actor, row) => removeClientGrant(tx, row) },
  display: (grant) => grant.client_id,
});
