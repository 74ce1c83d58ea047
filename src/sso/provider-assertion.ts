import type { Connection } from '../domain/connections/connections.js';
import type { ProviderSignIn } from '../domain/sessions/sessions.js';
import type { Flow } from './flow.js';
import type { Profile } from './profile.js';
import type { Claims } from './strategies/strategy.js';

/** What a provider has said of a person in this flow, checked. */
export type ProviderAssertion = {
  readonly flow: Flow;
  readonly connection: Connection;
  readonly claims: Claims;
  readonly profile: Profile;
  /** How and when the person signed in there. */
  readonly authentication: ProviderSignIn;
};
