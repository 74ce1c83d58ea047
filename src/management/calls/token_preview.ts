import { z } from 'zod';
import type { ClaimMapping } from '../../db/tables/clients.js';
import { clientOf, namedResource } from '../../domain/clients/clients.js';
import { findUser } from '../../db/tables/users.js';
import { isHeldOnly } from '../../domain/tokens/target.js';
import { isUuid } from '../../lib/random.js';
import { previewRuleNames, refusalRules, type ScopeRuling } from '../../lib/refusal-rules.js';
import { isForClientItself, previewedGrantTypes, previewToken } from '../../oauth/preview/token-preview.js';
import { requirePermissions } from '../authorize.js';
import type { Call } from '../call.js';
import { boundedText } from '../fields.js';
import { pointerTo, refuse } from '../problems.js';
import { endpoint } from './endpoint.js';

const input = z.strictObject({
  grant_type: z
    .enum(previewedGrantTypes)
    .meta({ description: 'A token exchange depends on the token that is brought: it has no preview.' }),
  client: boundedText(255).meta({ description: 'The client_id.' }),
  user: z.uuid().optional().meta({ description: 'The id of the user; for none of the grant types by which a client acts for itself.' }),
  resource: boundedText(2048).optional().meta({ description: 'The identifier of the API resource (RFC 8707).' }),
  scope: boundedText(4096, 0).optional().meta({ description: 'Scopes with spaces between them.' }),
  organization: boundedText(255).optional().meta({
    description:
      'The id or name of the organization that the sign-in is for; for none of the grant types by which a client acts for itself.',
  }),
  assume_consent: z.boolean().optional().meta({ description: 'As if the person said yes on the consent page.' }),
});

const claims = z.record(z.string(), z.unknown());
const rule = z.enum(previewRuleNames);

const answer = z.object({
  access_token: z
    .object({
      format: z.enum(['jwt', 'opaque']),
      lifetime: z.int().meta({ description: 'Seconds.' }),
      claims: claims.meta({ description: 'Of an opaque token, what introspection tells of it.' }),
    })
    .nullable()
    .meta({ description: 'What the access token says; null with a refusal.' }),
  id_token: claims.nullable().meta({ description: 'Its claims; null without openid.' }),
  userinfo: claims.nullable().meta({ description: 'The claims at userinfo; null without openid.' }),
  refresh_token: z.boolean().meta({ description: 'Whether one comes along.' }),
  scopes: z
    .array(z.object({ name: z.string(), granted: z.boolean(), rule, detail: z.string() }))
    .meta({ description: 'Every scope that was asked for or came by itself, and why it is in the token or not.' }),
  refusal: z
    .object({ error: z.string(), rule, detail: z.string() })
    .nullable()
    .meta({ description: 'Why there would be no token; then the members before are null and false.' }),
});

type Answer = z.infer<typeof answer>;

/** What the preview is for: whether both are there to be previewed is no matter of the issuing code. @throws {ApiError} 422 */
async function requireParties({ ctx }: Call, { grant_type, client, user, organization }: z.infer<typeof input>): Promise<void> {
  const own = isForClientItself(grant_type);
  if (own && user !== undefined)
    throw refuse(422, 'invalid_value', 'By this grant type a client acts for itself: leave the user out.', pointerTo('meta', 'user'));
  if (own && organization !== undefined) {
    const detail = 'By this grant type a client acts for itself: leave the organization out.';
    throw refuse(422, 'invalid_value', detail, pointerTo('meta', 'organization'));
  }
  if (!own && user === undefined) throw refuse(422, 'required', '"user" is required.', pointerTo('meta'), { field: 'user' });
  if (!(await clientOf(ctx, client))) throw refuse(422, 'invalid_value', 'There is no client with this id.', pointerTo('meta', 'client'));
  if (user !== undefined && !(isUuid(user) && (await findUser(ctx.scope, user))))
    throw refuse(422, 'invalid_value', 'There is no user with this id.', pointerTo('meta', 'user'));
}

/** Where the scopes follow from what a person holds, the preview tells that too, and for an organization who is a member. @throws {ApiError} 403 */
async function requireRights(call: Call, { client, user, resource, organization }: z.infer<typeof input>): Promise<void> {
  const isMembersOnly = (await clientOf(call.ctx, client))?.organization_usage === 'require';
  if (organization !== undefined || isMembersOnly) requirePermissions(call, 'organization_memberships:read');
  const api = user === undefined || resource === undefined ? null : await namedResource(call.ctx, resource);
  if (api && (api.is_system || isHeldOnly(api))) requirePermissions(call, 'permissions:read');
}

const withheld = (permission: string) => `[withheld: takes ${permission}]`;

/** The names of claims that tell what takes a permission beyond those of the endpoint, with that permission. */
async function guardedClaims({ ctx }: Call, client_id: string, resource: string | undefined): Promise<ReadonlyMap<string, string>> {
  const [client, api] = [await clientOf(ctx, client_id), resource === undefined ? null : await namedResource(ctx, resource)];
  const mappings: readonly ClaimMapping[] = [...(client?.claim_mappings ?? []), ...(api?.claim_mappings ?? [])];
  const from = (source: string, permission: string) =>
    mappings.flatMap((one): [string, string][] => (one.source === source ? [[one.claim, permission]] : []));
  return new Map([
    ['roles', 'roles:read'],
    ['permissions', 'permissions:read'],
    ...from('roles', 'roles:read'),
    ...from('permissions', 'permissions:read'),
  ]);
}

const shown = ({ name, rule: found }: ScopeRuling): Answer['scopes'][number] => ({
  name,
  granted: found === 'granted',
  rule: found,
  detail: refusalRules[found].found,
});

/** What a client would get for a user, or for itself, and why: answered by the code that issues tokens. */
export const token_preview = endpoint({
  name: 'token_preview',
  method: 'POST',
  path: 'token_preview',
  group: 'explanations',
  summary: 'Preview a token',
  description:
    'What a client would get now, with the reason for each scope, or why it would be refused. The code that issues tokens answers; nothing is stored. Times, ids, hashes and how the person signed in are examples. Claims that tell of roles and permissions take roles:read and permissions:read beside.',
  permissions: ['users:read', 'clients:read', 'api_resources:read'],
  input,
  answer,
  words: ['token-preview'],
  async run(call, input) {
    await requireParties(call, input);
    await requireRights(call, input);
    const { grant_type, client: client_id, user, resource, scope, organization, assume_consent = false } = input;
    const requested = { client_id, user_id: user ?? null, resource, scope, organization, assume_consent };
    const found = await previewToken(call.ctx, grant_type, requested);
    if ('refusal' in found) {
      const refusal = { ...found.refusal, detail: refusalRules[found.refusal.rule].found };
      return { access_token: null, id_token: null, userinfo: null, refresh_token: false, scopes: found.scopes.map(shown), refusal };
    }
    const guarded = await guardedClaims(call, client_id, resource);
    const readable = (claims: Readonly<Record<string, unknown>>): Record<string, unknown> =>
      Object.fromEntries(
        Object.entries(claims).map(([name, value]) => {
          const needed = user === undefined ? undefined : guarded.get(name);
          return [name, needed === undefined || value === undefined || call.actor.permissions.has(needed) ? value : withheld(needed)];
        }),
      );
    const { access_token, id_token, userinfo, refresh_token, scopes } = found;
    return {
      access_token: { ...access_token, claims: readable(access_token.claims) },
      id_token: id_token && readable(id_token),
      userinfo: userinfo && readable(userinfo),
      refresh_token,
      scopes: scopes.map(shown),
      refusal: null,
    };
  },
});
