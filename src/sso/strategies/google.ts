import { ProviderFailure } from '../provider-failure.js';
import { ssoRefusal } from '../refusal.js';
import { createOidcStrategy } from './oidc.js';

const hostedDomain = (options: Record<string, unknown>) =>
  typeof options['hosted_domain'] === 'string' ? options['hosted_domain'].trim().toLowerCase() : '';

/** Google; `hosted_domain` keeps everybody out who isn't of that Workspace, by the signed `hd` claim. */
export const google = createOidcStrategy({
  offline: { access_type: 'offline' },
  parameters({ connection }) {
    const hd = hostedDomain(connection.options);
    return hd === '' ? {} : { hd };
  },
  claims({ connection }, claims) {
    const hd = hostedDomain(connection.options);
    if (hd !== '' && String(claims['hd']).toLowerCase() !== hd)
      throw ssoRefusal('sso_domain_not_allowed', { cause: new ProviderFailure('the claim hd is not the hosted_domain of the connection') });
    return claims;
  },
});
