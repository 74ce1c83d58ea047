import type { StrategyDescription } from '../../domain/connections/strategies.js';
import type { GivenTokens } from '../../domain/provider-tokens/tokens.js';
import type { Connection } from '../../domain/connections/connections.js';
import type { Context } from '../../domain/context.js';
import type { Clock } from '../../platform/clock.js';
import type { GuardedFetch } from '../../platform/fetch/fetch.js';
import type { KeptAccess } from '../flow.js';
import type { ProviderMemory } from '../provider-memory.js';

export type Provider = {
  readonly ctx: Context;
  readonly connection: Connection;
  readonly description: StrategyDescription;
  readonly client_secret: string | null;
  readonly redirect_uri: string;
  readonly fetch: GuardedFetch['fetch'];
  readonly memory: ProviderMemory;
  readonly clock: Clock;
};

export type LoginRequest = {
  readonly state: string;
  readonly nonce: string;
  readonly code_challenge: string;
  /** `login_hint`, `prompt`, `max_age`: passed on where the application asked for them. */
  readonly wishes: Readonly<Record<string, string>>;
  /** For what tokens are kept: offline access is asked for. Null: they are not. */
  readonly keeps: KeptAccess | null;
};

/** The provider's answer, whose state has been found to be ours. */
export type ProviderAnswer = {
  /** Of SAML: the response, as it was posted. */
  readonly code: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** What else came with it: Apple's `user`. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly keeps: KeptAccess | null;
};

export type ProviderServer = {
  /** Null when it has no name to check (`iss`). */
  readonly issuer: string | null;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  /** RFC 9207 3: whether it says that every answer names it. */
  readonly announces_iss: boolean;
};

export type Claims = Readonly<Record<string, unknown>>;

/** The checked claims of the person, and what else an assertion says. */
export type Redeemed = {
  readonly claims: Claims;
  /** Until when a session may last. */
  readonly session_until?: Date | null;
  /** Takes the assertion, in the transaction of what it leads to. False when it was taken before. */
  readonly spend?: (tx: Context) => Promise<boolean>;
  /** What the provider gave, where it is kept. */
  readonly tokens?: GivenTokens | null;
};

/** How logins through one kind of provider go. All of them may throw whatever their libraries throw. */
export type Strategy = {
  server(provider: Provider): Promise<ProviderServer>;
  authorizationUrl(provider: Provider, request: LoginRequest): Promise<URL>;
  /** Exchanges the code, or verifies the response. */
  redeem(provider: Provider, answer: ProviderAnswer): Promise<Redeemed>;
};
