import { apiResourceOf, clientOf, type Client } from '../../domain/clients/clients.js';
import { seedAccessToken } from '../../domain/tokens/access-token.js';
import { previewForPerson } from '../../domain/tokens/person-tokens.js';
import { targetInForce } from '../../domain/tokens/target.js';
import { listPermissionNamesOfUser } from '../../db/tables/permissions.js';
import { findUserClaims, type UserWithRoles } from '../../db/tables/user_claims.js';
import { formatScope, parseScope } from '../../lib/scope-set.js';
import { grantedScopes, withinRights } from '../../oauth/authorize/granted-scopes.js';
import { apiResourceChoices } from '../choices.js';
import type { FilterField, Part } from '../page-parts.js';
import { recordPath, type ViewContext } from '../presentation.js';
import { listOf, may, recordOf } from '../resource-objects.js';
import type { ResourceObject } from '../../management/documents.js';
import { words } from '../values.js';

/** What a preview tells of: the person with roles and metadata, and what they hold of an API. */
const needed = ['users', 'roles', 'permissions', 'api_resources'];

type Asked = { readonly user: string; readonly resource: string; readonly scope: string };

function askedOf({ req }: ViewContext): Asked {
  const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
  const text = (name: string) => (query.get(name) ?? '').slice(0, 1000).trim();
  return { user: text('user'), resource: text('resource'), scope: query.has('scope') ? text('scope') : 'openid profile email roles' };
}

async function question(look: ViewContext, record: ResourceObject, { user, resource, scope }: Asked): Promise<Part> {
  const apis = [{ value: '', label: 'None' }, ...(await apiResourceChoices(look))];
  const fields: FilterField[] = [
    { name: 'user', label: 'Email address of a user', value: user, choices: null, kind: 'search' },
    { name: 'resource', label: 'API', value: resource, choices: apis, kind: 'select' },
    { name: 'scope', label: 'Scope', value: scope, choices: null, kind: 'text' },
  ];
  return { kind: 'filters', action: `${recordPath('clients', record.id)}/claims`, fields, hidden: {}, clear: null, button: 'Show claims' };
}

const block = (id: string, title: string, text: string | null, claims: unknown): Part => ({
  kind: 'code',
  id: `claims-${id}`,
  title,
  text,
  code: JSON.stringify(claims, null, 2),
});

/** The API that was chosen by its id, as the token endpoint sees it. */
async function identifierOf({ req }: ViewContext, id: string): Promise<string | null> {
  if (id === '') return null;
  const { record } = await recordOf(req.call, 'api_resources', id);
  return words(record.attributes['identifier']);
}

async function claimsParts(look: ViewContext, client: Client, user: UserWithRoles, asked: Asked): Promise<readonly Part[]> {
  const { ctx } = look.req.call;
  const identifier = await identifierOf(look, asked.resource);
  const target = identifier === null ? null : await targetInForce(ctx, client, identifier);
  const resource = identifier === null ? null : await apiResourceOf(ctx, identifier);
  if (identifier !== null && (target === null || resource === null))
    return [{ kind: 'notice', tone: 'warning', text: 'This client may not ask people for this API: it has no grant of that kind.' }];
  const scopes = grantedScopes(client, parseScope(asked.scope) ?? [], target);
  const request = await withinRights(ctx, { client, resource, scopes }, { user_id: user.id });
  const permissions = identifier === null ? [] : await listPermissionNamesOfUser(ctx.scope, user.id, identifier);
  const seed = seedAccessToken(ctx);
  const format = resource?.token_format ?? client.access_token_format;
  const said = previewForPerson(
    ctx,
    {
      user,
      permissions,
      user_id: user.id,
      grant_id: seed.jti,
      session_id: seed.jti,
      auth_time: look.now,
      acr: '1',
      amr: ['pwd'],
      claims: null,
      id_token_claims: null,
    },
    {
      client,
      target,
      seed,
      format,
      lifetime: resource?.access_token_lifetime ?? ctx.environment.default_access_token_lifetime,
      scope: formatScope(request.scopes),
      issued_at: look.now,
      nonce: null,
    },
  );
  const none = 'There is none: the scope has no openid.';
  const access =
    format === 'jwt'
      ? 'A JWT; it can be read by whoever has it.'
      : 'Opaque: nobody can read it; introspection tells of this what RFC 7662 has, permissions and mapped claims.';
  return [
    said.id_token ? block('id-token', 'ID token', null, said.id_token) : { kind: 'text', title: 'ID token', paragraphs: [none] },
    said.userinfo ? block('userinfo', 'Userinfo', null, said.userinfo) : { kind: 'text', title: 'Userinfo', paragraphs: [none] },
    block('access-token', 'Access token', access, said.access_token),
  ];
}

/**
 * What this client would be told of a user, by the code that issues the tokens; nothing is signed or stored. Times, `jti`, `sid` and `at_hash`
 * are examples.
 */
export async function claimsTab(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { call } = look.req;
  const lacking = needed.filter((path) => !may(call, path, 'read'));
  if (lacking.length > 0)
    return [
      { kind: 'notice', tone: 'info', text: `A preview takes more permissions: ${lacking.map((path) => `${path}:read`).join(', ')}.` },
    ];
  const asked = askedOf(look);
  const lead: Part = {
    kind: 'text',
    title: null,
    paragraphs: ['What this client would be told of a user who signs in now. Nothing is issued; times, jti, sid and at_hash are examples.'],
  };
  const form = await question(look, record, asked);
  if (asked.user === '') return [lead, form];
  const { records } = await listOf(call, 'users', { filters: { email: asked.user.toLowerCase() }, size: 1 });
  const user = records[0] ? await findUserClaims(call.ctx.scope, records[0].id) : null;
  const client = await clientOf(call.ctx, record.id);
  if (!user || !client) return [lead, form, { kind: 'notice', tone: 'warning', text: 'There is no user with this address.' }];
  return [lead, form, ...(await claimsParts(look, client, user, asked))];
}
