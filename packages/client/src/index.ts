export { createManagementClient, type ManagementClient, type ManagementOptions } from './management-client.js';
export { ManagementError, unwrap, type ApiError } from './management-error.js';
export type { components, paths, webhooks } from './management-api.js';
export { records } from './records.js';
export { feed, type FeedOptions, type FeedPage } from './feed.js';
export { clientCredentials, type ClientCredentials, type TokenSource } from './tokens.js';
export type { RevocationsOptions } from './revocations.js';
export { createTokenVerifier, type AccessTokenClaims, type TokenVerifier, type VerifierOptions } from './token-verifier.js';
export { verifyWebhook, WebhookError, type WebhookDelivery, type WebhookEvent } from './webhook-verification.js';
