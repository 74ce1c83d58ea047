import type { ConsentQuestion } from '../../domain/grants/consents.js';
import type { AuthenticationClass } from '../../domain/proofs/classes.js';
import type { SignInRequirement } from '../../domain/proofs/sign-in-requirement.js';
import type { Context } from '../../domain/context.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import type { OrganizationOption } from '../../db/tables/session_organizations.js';
import type { RefusalRule } from '../../lib/refusal-rules.js';
import type { AuthorizationRequest } from './request.js';

/** Errors of OIDC Core 3.1.2.6 and of "OpenID Connect Core Error Code unmet_authentication_requirements 1.0". */
export type InteractionError =
  'login_required' | 'interaction_required' | 'consent_required' | 'access_denied' | 'unmet_authentication_requirements';

/** A step that a session lacks: by a factor that the person has, or by one that they have yet to enrol. */
export type MissingStep = {
  readonly stage: 'verify' | 'enroll';
  /** The class that it is to reach; `1`: any second step does. */
  readonly acr: AuthenticationClass;
  /** Asked for because the client wishes for the class: once, whatever comes of it. */
  readonly wished: boolean;
};

/** What must happen before a code can be issued: nothing, a sign-in, a further step of it, a permission, or a refusal. */
export type Interaction =
  | { readonly kind: 'none'; readonly session: BrowserSession }
  /** `fresh`: the browser's present sign-in isn't enough. `again`: nor is one that came after the request: only one from now on. */
  | { readonly kind: 'login'; readonly fresh: boolean; readonly again?: boolean }
  | ({ readonly kind: 'step' } & MissingStep)
  /** The person chooses an organization. */
  | { readonly kind: 'choose'; readonly session: BrowserSession; readonly options: readonly OrganizationOption[] }
  /** The person can't sign in for the organization. */
  | { readonly kind: 'no_member'; readonly session: BrowserSession }
  | { readonly kind: 'consent'; readonly session: BrowserSession; readonly question: ConsentQuestion }
  | { readonly kind: 'refuse'; readonly error: InteractionError; readonly description: string; readonly rule: RefusalRule | null };

export type InteractionInput = {
  readonly ctx: Context;
  readonly request: AuthorizationRequest;
  readonly session: BrowserSession;
  /** What client and API resource require of every sign-in. */
  readonly requirement: SignInRequirement;
  /** `prompt=none`: the person may not be asked for anything. */
  readonly silent: boolean;
  /** The person signed in to this browser after the request came. */
  readonly fresh: boolean;
  /** The person proved who they are after the request came; false when a provider goes by an older sign-in. */
  readonly proven: boolean;
  /** Ids of the users that satisfy the request, null for a hint that isn't ours; none: anybody. */
  readonly requestedUsers: readonly (string | null)[];
  /** The person has just answered the consent page with yes. */
  readonly allowed: boolean;
  /** The person was asked for the class that the client wishes for. */
  readonly wished: boolean;
};

/** A check: its name, the interaction that it requires (null: none), and the section that asks for it. */
export type InteractionCheck = readonly [
  name: string,
  check: (input: InteractionInput) => Interaction | null | Promise<Interaction | null>,
  source: string,
];

/** @param rule of the request's trace; null: that of the error */
export const refuseInteraction = (error: InteractionError, description: string, rule: RefusalRule | null = null): Interaction => ({
  kind: 'refuse',
  error,
  description,
  rule,
});

/** A sign-in as a whole. One that came after the request and still doesn't do isn't asked for again: that would loop. */
export const askForSignIn = ({ silent, fresh }: InteractionInput, description: string): Interaction =>
  silent || fresh ? refuseInteraction('login_required', description) : { kind: 'login', fresh: true };
