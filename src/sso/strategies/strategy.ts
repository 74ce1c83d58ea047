import type { StrategyDescription } from '../../domain/connections/strategies.js';
import type { Connection } from '../../domain/connections/connections.js';
import type { Clock } from '../../platform/clock.js';
import type { GuardedFetch } from '../../platform/fetch/fetch.js';
import type { ProviderMemory } from '../provider-memory.js';

export type Provider = {
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
};

/** The provider's answer, whose state has been found to be ours. */
export type ProviderAnswer = {
  readonly code: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** What else came with it: Apple's `user`. */
  readonly parameters: Readonly<Record<string, string>>;
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

/** How logins through one kind of provider go. All of them may throw whatever their libraries throw. */
export type Strategy = {
  server(provider: Provider): Promise<ProviderServer>;
  authorizationUrl(provider: Provider, request: LoginRequest): Promise<URL>;
  /** Exchanges the code and returns the checked claims of the person. */
  redeem(provider: Provider, answer: ProviderAnswer): Promise<Claims>;
};
