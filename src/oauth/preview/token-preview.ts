import { enabledClient, type Client } from '../../domain/clients/clients.js';
import type { Context } from '../../domain/context.js';
import { seedAccessToken } from '../../domain/tokens/access-token.js';
import { OAuthError, RuledError } from '../../errors.js';
import { deviceCodeGrantType, jwtBearerGrantType } from '../../lib/grant-types.js';
import { named } from '../../lib/named.js';
import { parametersOf } from '../../lib/parameters.js';
import { previewRuleNames, type PreviewRule, type ScopeRuling } from '../../lib/refusal-rules.js';
import { ownTarget, ownTokenContent } from '../grants/client_credentials.js';
import { grantFor, paramsOf } from '../token.js';
import { previewOfPerson } from './persons-preview.js';
import { exampleKey, previewedToken, type PreviewRequest, type PreviewedTokens } from './previewed.js';

/** A request that would be refused: the error code, the rule that refuses it, and what became of its scopes as far as they were looked at. */
export type PreviewRefusal = {
  readonly refusal: { readonly error: string; readonly rule: PreviewRule };
  readonly scopes: readonly ScopeRuling[];
};

type Preview = (ctx: Context, client: Client, request: PreviewRequest) => Promise<PreviewedTokens>;

/** A client's own token, whether by its secret or on the strength of its workload's token (RFC 7523 2.1). */
const previewOfClient =
  (grant_type: string): Preview =>
  async (ctx, client, { resource, scope }) => {
    const grant = grantFor(client, grant_type);
    const sent = { ...(resource !== undefined && { resource }), ...(scope !== undefined && { scope }), assertion: 'that of a workload' };
    const params = await paramsOf(grant, ctx, client, parametersOf(sent));
    const target = await ownTarget(ctx, client, { resource: params['resource'] as string, scope: params['scope'] });
    const making = { seed: seedAccessToken(ctx), issued_at: ctx.clock.now(), jkt: exampleKey(client, target.resource) };
    return {
      access_token: previewedToken(ctx, ownTokenContent(client, target, making)),
      id_token: null,
      userinfo: null,
      refresh_token: false,
      scopes: target.granted.map((name) => ({ name, rule: 'granted' })),
    };
  };

const previews: Readonly<Record<string, Preview>> = named({
  authorization_code: previewOfPerson('authorization_code'),
  refresh_token: previewOfPerson('refresh_token'),
  [deviceCodeGrantType]: previewOfPerson(deviceCodeGrantType),
  client_credentials: previewOfClient('client_credentials'),
  [jwtBearerGrantType]: previewOfClient(jwtBearerGrantType),
});

/** The grant types that can be previewed: what a token exchange gives depends on the token that is brought. */
export const previewedGrantTypes = Object.keys(previews) as [string, ...string[]];

export const isForClientItself = (grant_type: string): boolean => grant_type === 'client_credentials' || grant_type === jwtBearerGrantType;

/** The refusal as a preview tells of it; null for what isn't one. */
function refusalOf(error: unknown): PreviewRefusal | null {
  if (!(error instanceof RuledError)) return null;
  const rule = previewRuleNames.find((name) => name === error.rule);
  return rule === undefined ? null : { refusal: { error: error.answer.code, rule }, scopes: error.detail.scopes ?? [] };
}

/**
 * What a client would get now, or why it wouldn't: the code that decides at the authorization and token endpoints answers, and nothing is signed, stored
 * or spent. Random values, times, and how the person signed in are examples.
 */
export async function previewToken(ctx: Context, grant_type: string, request: PreviewRequest): Promise<PreviewedTokens | PreviewRefusal> {
  const preview = previews[grant_type];
  if (!preview) throw new Error(`${grant_type} can not be previewed`);
  try {
    const client = await enabledClient(ctx, request.client_id);
    if (!client) throw OAuthError.invalid_client().by('client_disabled');
    return await preview(ctx, client, request);
  } catch (error) {
    const refused = refusalOf(error);
    if (!refused) throw error;
    return refused;
  }
}
