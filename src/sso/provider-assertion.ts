import type { Connection } from '../domain/connections/connections.js';
import type { Context } from '../domain/context.js';
import type { ProviderSignIn } from '../domain/sessions/sessions.js';
import type { Flow } from './flow.js';
import type { Profile } from '../domain/sign-ins/provider-decision.js';
import type { GivenTokens } from '../domain/provider-tokens/tokens.js';
import type { Claims } from './strategies/strategy.js';

/** The verified statement of a provider about a person, with the flow that it answers. */
export type ProviderAssertion = {
  readonly flow: Flow;
  readonly connection: Connection;
  readonly claims: Claims;
  readonly profile: Profile;
  /** How and when the person signed in there. */
  readonly authentication: ProviderSignIn;
  /** Until when a session may last, where the provider says so. */
  readonly session_until: Date | null;
  /** What the provider gave, where it is kept. */
  readonly tokens: GivenTokens | null;
  /** Takes what can be used but once, beside the flow: false when it was. */
  readonly spend: ((tx: Context) => Promise<boolean>) | null;
};
