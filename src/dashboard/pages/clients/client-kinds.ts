import type { Choice, Value } from '../../parts/page-parts.js';
import { code, text, words } from '../../parts/values.js';
import {
  cibaGrantType,
  deviceCodeGrantType,
  jwtBearerGrantType,
  jwtDpopGrantType,
  tokenExchangeGrantType,
} from '../../../lib/grant-types.js';
import { named } from '../../../lib/named.js';
import { terms } from '../../parts/words.js';

/** A kind of client, with the settings that follow from it; `furtherGrants` are offered and not chosen from the start. */
type Kind = {
  readonly label: string;
  readonly text: string;
  readonly grants: readonly string[];
  readonly furtherGrants?: readonly string[];
  readonly methods: readonly string[];
};

export const kinds: Readonly<Record<string, Kind>> = named<Kind>({
  web: {
    label: 'Web application',
    text: 'Runs on a server that can keep a secret: Node, Spring, Rails, PHP.',
    grants: ['authorization_code', 'refresh_token'],
    furtherGrants: [tokenExchangeGrantType, cibaGrantType],
    methods: ['client_secret_basic', 'client_secret_post'],
  },
  spa: {
    label: 'Single-page application',
    text: 'Runs in the browser, without a secret; PKCE protects the sign-in.',
    grants: ['authorization_code', 'refresh_token'],
    methods: ['none'],
  },
  native: {
    label: 'Native application',
    text: 'Runs on a phone or a desktop, without a secret; users sign in with their browser.',
    grants: ['authorization_code', 'refresh_token'],
    furtherGrants: [deviceCodeGrantType],
    methods: ['none'],
  },
  machine: {
    label: 'Machine to machine',
    text: 'A service that calls an API on its own behalf: no user, no browser.',
    grants: ['client_credentials'],
    furtherGrants: [tokenExchangeGrantType, jwtBearerGrantType, cibaGrantType],
    methods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  },
  saml: {
    label: 'SAML application',
    text: 'Signs people in with SAML 2.0: products that you buy, such as a wiki or an expense tool.',
    grants: [],
    methods: ['none'],
  },
});

/** Where the form of a native application without a browser is: one whose users enter a code elsewhere (RFC 8628). */
export const newDeviceClientPath = '/dashboard/clients/new?application_type=native&flow=device';

export const grantLabels: Record<string, [string, string]> = named({
  authorization_code: ['Authorization code', 'Users sign in with it.'],
  refresh_token: [terms.refresh_token, 'Stays signed in without asking again. Required for the offline_access scope.'],
  client_credentials: [terms.client_credentials, 'The client acts for itself.'],
  [deviceCodeGrantType]: [terms.device_authorization, 'For TVs and command lines: users enter a code in a browser on another device.'],
  [cibaGrantType]: ['Approval elsewhere (CIBA)', 'Asks people who are elsewhere, who approve on their phone. For agents and call centers.'],
  [jwtBearerGrantType]: [
    terms.jwt_bearer,
    'A workload uses a token of its platform instead of a secret, or the client brings identity assertions. Requires a federated credential, or a client grant.',
  ],
  [jwtDpopGrantType]: ['JWT bearer with DPoP', 'Brings identity assertions that are bound to its key.'],
  [tokenExchangeGrantType]: [
    terms.token_exchange,
    'Calls another API on behalf of the person whose token it received. Requires a client grant.',
  ],
});
export const methodLabels: Record<string, string> = named({
  client_secret_basic: 'Client secret (Basic)',
  client_secret_post: 'Client secret (Post)',
  none: 'None (public client)',
  private_key_jwt: terms.private_key_jwt,
});
type Attributes = Readonly<Record<string, unknown>>;
/** Whether the client has a secret: by its authentication method, since of one that was imported or seeded by its digest no character is known. */
export const provesBySecret = (a: Attributes): boolean => words(a['token_endpoint_auth_method']).startsWith('client_secret_');
/** The hint of the secret, which is all that anybody may see of it. */
export const secretValue = (a: Attributes): Value => (a['secret_hint'] === null ? text(terms.set) : code(`cs_…${words(a['secret_hint'])}`));
export const grantChoices = (names: readonly string[]): Choice[] =>
  names.map((value) => ({ value, label: grantLabels[value]?.[0] ?? value, hint: grantLabels[value]?.[1] ?? null }));
export const methodChoices = (names: readonly string[]): Choice[] => names.map((value) => ({ value, label: methodLabels[value] ?? value }));
