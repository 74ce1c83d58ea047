import type { Choice } from '../page-parts.js';
import { deviceCodeGrantType, jwtBearerGrantType, tokenExchangeGrantType } from '../../lib/grant-types.js';
import { named } from '../../lib/named.js';

/** A kind of client, with the settings that follow from it; `furtherGrants` are offered and not chosen from the start. */
type Kind = {
  readonly label: string;
  readonly text: string;
  readonly grants: readonly string[];
  readonly furtherGrants?: readonly string[];
  readonly methods: readonly string[];
};

/** The kinds of client that the creation form offers. */
export const kinds: Readonly<Record<string, Kind>> = named<Kind>({
  web: {
    label: 'Web application',
    text: 'Runs on a server that can keep a secret: Node, Spring, Rails, PHP.',
    grants: ['authorization_code', 'refresh_token'],
    furtherGrants: [tokenExchangeGrantType],
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
    text: 'Runs on a phone, a desktop or a device without a browser, without a secret.',
    grants: ['authorization_code', 'refresh_token'],
    furtherGrants: [deviceCodeGrantType],
    methods: ['none'],
  },
  machine: {
    label: 'Machine',
    text: 'A service that calls an API on its own behalf: no user, no browser.',
    grants: ['client_credentials'],
    furtherGrants: [tokenExchangeGrantType, jwtBearerGrantType],
    methods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  },
});

/** What grant types are called, and what they are for. */
export const grantLabels: Record<string, [string, string]> = named({
  authorization_code: ['Authorization code', 'Users sign in with it.'],
  refresh_token: ['Refresh token', 'Stays signed in without asking again.'],
  client_credentials: ['Client credentials', 'The client acts for itself.'],
  [deviceCodeGrantType]: ['Device code', 'For televisions and command lines: users type a code in a browser elsewhere.'],
  [jwtBearerGrantType]: ['JWT bearer', 'A workload brings a token of its platform instead of a secret. Takes a federated credential too.'],
  [tokenExchangeGrantType]: [
    'Token exchange',
    'Calls another API for the person whose token it was called with. Takes a client grant too.',
  ],
});
/** What authentication methods are called. */
export const methodLabels: Record<string, string> = named({
  client_secret_basic: 'Secret in the Authorization header (Basic)',
  client_secret_post: 'Secret in the form body',
  none: 'None: a public client, with PKCE',
  private_key_jwt: 'A signed assertion (private_key_jwt)',
});
/** Grant types as choices of a form. */
export const grantChoices = (names: readonly string[]): Choice[] =>
  names.map((value) => ({ value, label: grantLabels[value]?.[0] ?? value, hint: grantLabels[value]?.[1] ?? null }));
/** Authentication methods as choices of a form. */
export const methodChoices = (names: readonly string[]): Choice[] => names.map((value) => ({ value, label: methodLabels[value] ?? value }));
