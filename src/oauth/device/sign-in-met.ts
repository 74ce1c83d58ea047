import type { Request, Response } from 'express';
import type { ApiResource, Client } from '../../domain/clients/clients.js';
import type { Organization } from '../../domain/organizations/organizations.js';
import type { OrganizationChoice } from '../../domain/organizations/requested.js';
import { PageError } from '../../errors.js';
import { interactionFor } from '../authorize/interaction.js';
import type { AuthorizationRequest } from '../authorize/request.js';
import { message } from '../../lib/languages/messages.js';

/** What a device or a client elsewhere asks a person for, and since when, in milliseconds. */
export type DeviceAuthorization = {
  readonly client: Client;
  readonly resource: ApiResource | null;
  readonly scopes: readonly string[];
  readonly organization_choice: OrganizationChoice;
  readonly since: number;
};

/** The organization that the choice comes to; null: none. */
export const chosenOf = (choice: OrganizationChoice): Organization | null => (choice.kind === 'one' ? choice.organization : null);

/** The same as an authorization request that wishes for nothing and goes back nowhere. */
const asRequest = ({ client, resource, scopes, organization_choice }: DeviceAuthorization): AuthorizationRequest => ({
  client,
  resource,
  authorization_details: null,
  scopes,
  organization: chosenOf(organization_choice),
  organization_choice,
  rulings: [],
  redirect_uri: '',
  state: undefined,
  response_mode: 'query',
  code_challenge: null,
  dpop_jkt: null,
  nonce: null,
  prompts: [],
  max_age: null,
  acr_values: [],
  login_hint: null,
  id_token_hint: null,
  claims: { userinfo: null, id_token: null },
});

/**
 * Whether the person's sign-in is what the policy, the client, the API resource and the organization demand (specification 5.16, 16.2), as at the authorization endpoint. If a step
 * is missing the browser is sent there, and comes back.
 * @param return_to the page that asks
 * @throws {PageError} 403 when a whole sign-in is needed, the organization is not theirs, or there is no way to what is demanded
 */
export async function isSignInMet(req: Request, res: Response, authorization: DeviceAuthorization, return_to: string): Promise<boolean> {
  const { ctx, session } = req;
  const interaction = await interactionFor(ctx, asRequest(authorization), session, { since: authorization.since, allowed: true });
  const next = { href: `/logout?${new URLSearchParams({ return_to })}`, label: 'device_answer.sign_out_first' } as const;
  switch (interaction.kind) {
    case 'step':
      res.setHeader('Cache-Control', 'no-store');
      res.redirect(303, `/login/${interaction.stage}?${new URLSearchParams({ acr_values: interaction.acr, return_to })}`);
      return false;
    case 'login': {
      const text = message('refusal.device_sign_in');
      throw new PageError(403, 'login_required', text, {}, undefined, next);
    }
    case 'choose':
    case 'no_member': {
      const text = message('refusal.no_member', { email: interaction.session.user_email });
      throw new PageError(403, 'organization_access_denied', text, {}, undefined, next).by('not_a_member');
    }
    case 'refuse':
      if (interaction.rule === 'client_blocked')
        throw new PageError(403, interaction.error, message('refusal.client_blocked')).by(interaction.rule);
      throw new PageError(403, interaction.error, message('refusal.unmet_authentication'));
    default:
      return true;
  }
}
