import { withoutConsent } from '../../domain/grants/consents.js';
import type { Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { organizationChoice, type OrganizationChoice } from '../../domain/organizations/requested.js';
import { requirementOf } from '../../domain/proofs/sign-in-requirement.js';
import { seedAccessToken } from '../../domain/tokens/access-token.js';
import { previewForPerson } from '../../domain/tokens/person-tokens.js';
import { kindOfToken, notLetIn, effectiveScope, effectiveTarget } from '../../domain/tokens/target.js';
import { findUserClaims, type UserWithRoles } from '../../db/tables/user_claims.js';
import { findUser } from '../../db/tables/users.js';
import { OAuthError } from '../../errors.js';
import { digest } from '../../lib/digest.js';
import { deviceCodeGrantType } from '../../lib/grant-types.js';
import { parametersOf } from '../../lib/parameters.js';
import type { ScopeRuling } from '../../lib/refusal-rules.js';
import { formatScope } from '../../lib/scope-set.js';
import { consentQuestion, isConsentNeeded } from '../authorize/interaction.js';
import { afterRights, granted, heldBy, limitToRights } from '../authorize/granted-scopes.js';
import type { AuthorizationRequest } from '../authorize/request.js';
import { validate } from '../authorize/validate.js';
import { judgeDeviceRequest } from '../device/start.js';
import { authorizationCodeRefusal } from '../grants/authorization_code.js';
import { grantFor } from '../token.js';
import { exampleKey, previewedToken, type PreviewRequest, type PreviewedTokens } from './previewed.js';

/** What of an authorization decides about the tokens. */
type Authorized = Pick<AuthorizationRequest, 'scopes' | 'rulings' | 'resource' | 'organization'>;

type Person = PreviewRequest & { readonly user_id: string };

/** The authorization request that a right application would send, as the authorization endpoint judges it. @throws {AuthorizationError} */
async function authorizationOf(
  ctx: Context,
  client: Client,
  { user_id, resource, scope, organization }: Person,
): Promise<AuthorizationRequest> {
  const redirect_uri = client.redirect_uris[0] ?? '';
  const sent = parametersOf({
    response_type: 'code',
    client_id: client.id,
    redirect_uri,
    code_challenge: digest('an example').toString('base64url'),
    code_challenge_method: 'S256',
    ...(resource === undefined ? {} : { resource }),
    ...(scope === undefined ? {} : { scope }),
    ...(organization === undefined ? {} : { organization }),
  });
  const addressee = { client, redirect_uri, state: undefined, response_mode: 'query' as const };
  return validate(ctx, addressee, sent, { pushed: true, session: { user_id } });
}

/** Refuses what the consent page would still have to ask (OIDC Core 3.1.2.6). @throws {OAuthError} `consent_required` */
async function requireConsent(ctx: Context, request: AuthorizationRequest, { user_id }: Person): Promise<void> {
  if (!(await isConsentNeeded(ctx, request, user_id))) return;
  const lacking = await withoutConsent(ctx, consentQuestion(request, user_id));
  const scopes = request.rulings.map(({ name, rule }) => ({ name, rule: rule === 'granted' && lacking.scopes.includes(name) ? 'consent_missing' : rule }) as const); // prettier-ignore
  throw new OAuthError(400, 'consent_required', 'the person has not allowed this yet').by('consent_missing', { scopes });
}

/** The same for a device (RFC 8628), whose person is asked on the page each time. @throws {OAuthError} */
async function deviceAuthorizationOf(ctx: Context, client: Client, { user_id, ...asked }: Person): Promise<Authorized> {
  const { target, rulings } = await judgeDeviceRequest(ctx, client, asked);
  const organization = requireOrganization(await organizationChoice(ctx, client, asked.organization, { user_id }));
  const request = { client, organization, resource: target?.resource ?? null, scopes: granted(rulings) };
  const { scopes } = await limitToRights(ctx, request, { user_id });
  return { scopes, rulings: afterRights(rulings, scopes), resource: request.resource, organization };
}

/** @throws {OAuthError} where the person would have to choose an organization, or has none */
function requireOrganization(choice: OrganizationChoice): Authorized['organization'] {
  if (choice.kind === 'choose')
    throw new OAuthError(400, 'interaction_required', 'the person has to choose an organization').by('organization_open');
  if (choice.kind === 'refused')
    throw new OAuthError(400, 'access_denied', 'the person is no active member of the organization').by('not_a_member');
  return choice.kind === 'one' ? choice.organization : null;
}

/** Who may sign in is asked when the code is redeemed. @throws {OAuthError} `invalid_grant` */
async function requirePerson(ctx: Context, { user_id }: Person, organization: Authorized['organization']): Promise<UserWithRoles> {
  const user = await findUser(ctx.scope, user_id);
  const claims = user?.status === 'active' ? await findUserClaims(ctx.scope, user_id, organization?.id ?? null) : null;
  if (!claims) throw authorizationCodeRefusal('user');
  return claims;
}

/** What the authorization gives. @throws {OAuthError | AuthorizationError} */
async function authorized(ctx: Context, client: Client, grant_type: string, person: Person): Promise<Authorized & { user: UserWithRoles }> {
  const byDevice = grant_type === deviceCodeGrantType || !client.grant_types.includes('authorization_code');
  if (grant_type !== 'authorization_code') grantFor(client, grant_type);
  if (byDevice && grant_type !== 'authorization_code') {
    const found = await deviceAuthorizationOf(ctx, client, person);
    return { ...found, user: await requirePerson(ctx, person, found.organization) };
  }
  const request = await authorizationOf(ctx, client, person);
  requireOrganization(request.organization_choice);
  const user = await requirePerson(ctx, person, request.organization);
  if (!person.assume_consent) await requireConsent(ctx, request, person);
  return { ...request, user };
}

/** Of the rulings those that still hold when the token is made. */
const stillGranted = (rulings: readonly ScopeRuling[], scope: string): ScopeRuling[] => {
  const words = scope.split(' ');
  return rulings.map(({ name, rule }) => ({ name, rule: rule === 'granted' && !words.includes(name) ? 'not_in_client_grant' : rule }));
};

/** What a person's tokens would say, of a sign-in by password just now. */
export function previewOfPerson(grant_type: string) {
  return async (ctx: Context, client: Client, request: PreviewRequest): Promise<PreviewedTokens> => {
    if (request.user_id === null) throw new Error('whose tokens?');
    const { user, resource, organization, scopes, rulings } = await authorized(ctx, client, grant_type, {
      ...request,
      user_id: request.user_id,
    });
    const target = resource && (await effectiveTarget(ctx, client, resource.identifier));
    if (resource && !target) throw notLetIn();
    const permissions = target ? await heldBy(ctx, organization, user.id, target.resource) : [];
    const scope = target ? effectiveScope(target, formatScope(scopes), permissions) : formatScope(scopes);
    const seed = seedAccessToken(ctx);
    const issued_at = ctx.clock.now();
    const preview = previewForPerson(
      ctx,
      {
        user,
        permissions,
        user_id: user.id,
        grant_id: seed.jti,
        session_id: seed.jti,
        organization_id: organization?.id ?? null,
        organization,
        auth_time: issued_at,
        acr: requirementOf(client, target?.resource, organization).acr ?? '1',
        amr: ['pwd'],
        claims: null,
        id_token_claims: null,
      },
      {
        client,
        target,
        seed,
        ...kindOfToken(ctx, client, target && target.resource),
        scope,
        issued_at,
        nonce: null,
        jkt: exampleKey(client, target && target.resource),
      },
    );
    return {
      access_token: previewedToken(ctx, preview.access),
      id_token: preview.id_token,
      userinfo: preview.userinfo,
      refresh_token: client.grant_types.includes('refresh_token'),
      scopes: stillGranted(rulings, scope),
    };
  };
}
