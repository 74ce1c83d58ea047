import type { ApiResource, Client } from '../../domain/clients/clients.js';
import type { Organization } from '../../domain/organizations/organizations.js';
import type { OrganizationChoice } from '../../domain/organizations/requested.js';
import type { Detail } from '../../lib/authorization-details.js';
import type { ScopeRuling } from '../../lib/refusal-rules.js';

/**
 * How the answer travels back (OAuth 2.0 Multiple Response Types 2.1, Form Post Response Mode), and the same with a signed answer (JARM 2.3); `jwt` is
 * `query.jwt`. A fragment is for what runs in a browser or on a device: nobody's server sees it.
 */
export const responseModes = ['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'] as const;
export type ResponseMode = (typeof responseModes)[number];

/** Whether the answer is signed (JARM 2.3). */
export const isSigned = (mode: ResponseMode): boolean => mode === 'jwt' || mode.endsWith('.jwt');

export const isFragment = (mode: string): boolean => mode === 'fragment' || mode === 'fragment.jwt';

/** Whether answers to the client may travel in the fragment: it runs where the browser is. */
export const takesFragments = ({ application_type }: Pick<Client, 'application_type'>): boolean =>
  application_type === 'spa' || application_type === 'native';

/** What the person must be asked (OIDC Core 3.1.2.1). */
export const prompts = ['none', 'login', 'consent', 'select_account'] as const;
export type Prompt = (typeof prompts)[number];

/** A client and redirect URI that belong together: from here on, and only from here on, errors may be sent there. */
export type Addressee = {
  readonly client: Client;
  readonly redirect_uri: string;
  readonly state: string | undefined;
  readonly response_mode: ResponseMode;
};

/** An authorization request in which every parameter is valid. */
export type AuthorizationRequest = Addressee & {
  /** Those that are given, if the person agrees. */
  readonly scopes: readonly string[];
  /** What became of each scope that was asked for, and of those that came by themselves. */
  readonly rulings: readonly ScopeRuling[];
  readonly resource: ApiResource | null;
  /** What is asked for beyond scopes (RFC 9396), or what the person allowed of it; null: nothing. */
  readonly authorization_details: readonly Detail[] | null;
  /** The organization that the tokens are for; null: for none. */
  readonly organization: Organization | null;
  /** How it was found; `choose` and `refused` leave none. */
  readonly organization_choice: OrganizationChoice;
  readonly code_challenge: string | null;
  /** The thumbprint of the key that the code is to be bound to (RFC 9449 10). */
  readonly dpop_jkt: string | null;
  readonly nonce: string | null;
  readonly prompts: readonly Prompt[];
  /** Seconds; null when not asked for. */
  readonly max_age: number | null;
  readonly acr_values: readonly string[];
  readonly login_hint: string | null;
  readonly id_token_hint: string | null;
  /** The `claims` parameter (OIDC Core 5.5). */
  readonly claims: { readonly userinfo: Record<string, unknown> | null; readonly id_token: Record<string, unknown> | null };
};
