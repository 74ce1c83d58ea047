import type { Choice, Value } from '../page-parts.js';
import { code, text, words } from '../values.js';
import { deviceCodeGrantType, jwtBearerGrantType, tokenExchangeGrantType } from '../../lib/grant-types.js';
import { named } from '../../lib/named.js';
import { sentences, terms } from '../words.js';

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
    label: terms.web_application,
    text: sentences.runs_on_a_server_that,
    grants: ['authorization_code', 'refresh_token'],
    furtherGrants: [tokenExchangeGrantType],
    methods: ['client_secret_basic', 'client_secret_post'],
  },
  spa: {
    label: terms.single_page_application,
    text: sentences.runs_in_the_browser_without,
    grants: ['authorization_code', 'refresh_token'],
    methods: ['none'],
  },
  native: {
    label: terms.native_application,
    text: sentences.runs_on_a_phone_a,
    grants: ['authorization_code', 'refresh_token'],
    furtherGrants: [deviceCodeGrantType],
    methods: ['none'],
  },
  machine: {
    label: terms.machine_to_machine,
    text: sentences.a_service_that_calls_an,
    grants: ['client_credentials'],
    furtherGrants: [tokenExchangeGrantType, jwtBearerGrantType],
    methods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  },
});

/** Where the form of a native application without a browser is: one whose users enter a code elsewhere (RFC 8628). */
export const devicePath = '/dashboard/clients/new?application_type=native&flow=device';

/** What grant types are called, and what they are for. */
export const grantLabels: Record<string, [string, string]> = named({
  authorization_code: [terms.authorization_code, sentences.users_sign_in_with_it],
  refresh_token: [terms.refresh_token, sentences.stays_signed_in_without_asking],
  client_credentials: [terms.client_credentials, sentences.the_client_acts_for_itself],
  [deviceCodeGrantType]: [terms.device_authorization, sentences.for_televisions_and_command_lines],
  [jwtBearerGrantType]: [terms.jwt_bearer, sentences.a_workload_brings_a_token],
  [tokenExchangeGrantType]: [terms.token_exchange, sentences.calls_another_api_for_the],
});
/** What authentication methods are called. */
export const methodLabels: Record<string, string> = named({
  client_secret_basic: terms.client_secret_basic,
  client_secret_post: terms.client_secret_post,
  none: terms.none_public_client,
  private_key_jwt: terms.private_key_jwt,
});
type Attributes = Readonly<Record<string, unknown>>;
/** Whether the client has a secret: by its authentication method, since of one that was imported or seeded by its digest no character is known. */
export const provesBySecret = (a: Attributes): boolean => words(a['token_endpoint_auth_method']).startsWith('client_secret_');
/** As much of the secret as anybody may see. */
export const secretValue = (a: Attributes): Value => (a['secret_hint'] === null ? text(terms.set) : code(`cs_…${words(a['secret_hint'])}`));
/** Grant types as choices of a form. */
export const grantChoices = (names: readonly string[]): Choice[] =>
  names.map((value) => ({ value, label: grantLabels[value]?.[0] ?? value, hint: grantLabels[value]?.[1] ?? null }));
/** Authentication methods as choices of a form. */
export const methodChoices = (names: readonly string[]): Choice[] => names.map((value) => ({ value, label: methodLabels[value] ?? value }));
