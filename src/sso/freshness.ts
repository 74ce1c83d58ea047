import type { Request } from 'express';
import { apiResourceOf, clientOf } from '../domain/clients/clients.js';
import { requirementOf } from '../domain/proofs/sign-in-requirement.js';
import { tellsAuthTime, type Connection } from '../domain/connections/connections.js';
import { providerSkewMs } from '../domain/sessions/sessions.js';
import type { PageError } from '../errors.js';
import { organizationOfSignIn } from '../http/auth/sign-in-organization.js';
import { pendingOf, type PendingAuthorization } from '../http/request/return-to.js';
import { ProviderFailure } from './provider-failure.js';
import { ssoRefusal } from './refusal.js';
import { message, type MessageKey } from '../lib/languages/messages.js';

/** How recent the authentication at the provider must be (OIDC Core 3.1.2.1 `prompt=login`, `max_age`). */
export type Freshness = {
  /** Epoch milliseconds: a sign-in at or after this time is always accepted. */
  readonly from: number;
  /** Seconds: so is one that isn't older than this; null when only one since `from` is. */
  readonly max_age: number | null;
};

const words = (text: string | undefined) => (text ?? '').split(' ');

/** `max_authentication_age` of the client, the API resource and the organization that the pending request names; null for none. */
async function ageRequired(req: Request, pending: PendingAuthorization): Promise<number | null> {
  const { ctx } = req;
  const { client_id, resource } = pending.parameters;
  const client = client_id === undefined ? null : await clientOf(ctx, client_id);
  const organization = await organizationOfSignIn(req, client, pending);
  return requirementOf(client, resource === undefined ? null : await apiResourceOf(ctx, resource), organization).max_age;
}

/** What the application's pending request, or a page of ours that sends for a fresh sign-in (`now`), demands; null for nothing. */
export async function requiredFreshness(req: Request, return_to: string | null, now: boolean): Promise<Freshness | null> {
  if (now) return { from: req.ctx.clock.now().getTime(), max_age: null };
  const pending = pendingOf(req, return_to);
  if (pending === null) return null;
  const { prompt, max_age } = pending.parameters;
  if (words(prompt).includes('login')) return { from: pending.at, max_age: null };
  const requested = max_age !== undefined && /^\d{1,9}$/.test(max_age) ? Number(max_age) : null;
  const ages = [requested, await ageRequired(req, pending)].filter((age) => age !== null);
  return ages.length === 0 ? null : { from: pending.at, max_age: Math.min(...ages) };
}

/**
 * How a demand is put to the provider: one that is sent `max_age` has to say in its ID token when the person signed in there
 * (OIDC Core 2, `auth_time`), and `prompt=login` alone doesn't make it.
 * @param wishes what the application asked for
 */
export function freshnessParameters(freshness: Freshness | null, wishes: Readonly<Record<string, string>>): Record<string, string> {
  if (freshness === null) return { ...wishes };
  const max_age = String(freshness.max_age ?? wishes['max_age'] ?? 0);
  if (freshness.max_age !== null || words(wishes['prompt']).includes('login')) return { ...wishes, max_age };
  return { ...wishes, prompt: 'login', max_age };
}

const refuse = ({ display_name: provider }: Connection, key: MessageKey, why: string): PageError =>
  ssoRefusal('sso_access_denied', { text: message(key, { provider }), cause: new ProviderFailure(why) });

/** Refuses to set out for a provider that has no means of saying when somebody signed in there. @throws {PageError} 403 */
export function requireAuthTimeSupport(connection: Connection, freshness: Freshness | null): void {
  if (freshness !== null && !tellsAuthTime(connection))
    throw refuse(
      connection,
      'refusal.fresh_no_means',
      'a fresh sign-in was asked for, and the provider has no means of telling when somebody signed in',
    );
}

/** Refuses an older sign-in, or one of unknown age, where a fresh one was asked for (OIDC Core 3.1.3.7 rule 13). @throws {PageError} 403 */
export function requireFreshness(req: Request, connection: Connection, freshness: Freshness | null, auth_time: Date | null): void {
  if (freshness === null) return;
  if (auth_time === null)
    throw refuse(
      connection,
      'refusal.fresh_unsaid',
      'a fresh sign-in was asked for, and the provider does not say when the person signed in (auth_time)',
    );
  const at = auth_time.getTime();
  const young = freshness.max_age !== null && at >= req.ctx.clock.now().getTime() - freshness.max_age * 1000;
  if (young || at >= freshness.from - providerSkewMs) return;
  throw refuse(connection, 'refusal.fresh_old', 'a fresh sign-in was asked for, and the one at the provider is older (auth_time)');
}
