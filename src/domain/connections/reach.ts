import { isDeepStrictEqual } from 'node:util';
import type { ConnectionRow } from '../../db/tables/connections.js';
import type { Actor } from '../actor.js';
import { domainOfEmail } from './connections.js';
import { holdsEverything, requireEverything } from '../reach/reach.js';

/** What decides who somebody is who comes through a connection. The database counts their changes in `generation`, which voids all links. */
export const identityDeciding = [
  'strategy',
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'provider_client_id',
  'claim_mapping',
] as const satisfies readonly (keyof ConnectionRow)[];

/** What decides whose identity assertions a connection takes, and from whom. */
const assertionAttributes = [
  'assertions',
  'assertion_issuer',
  'assertion_jwks_uri',
  'assertion_tenant',
  'assertion_reuse',
  'assertion_clients',
] as const satisfies readonly (keyof ConnectionRow)[];

/** What decides whose signals end sessions that began through a connection. */
const signalColumns = [
  'signals',
  'signals_issuer',
  'signals_audience',
  'signals_poll_url',
  'signals_token_sealed',
] as const satisfies readonly (keyof ConnectionRow)[];
type SignalColumn = (typeof signalColumns)[number];
export type SignalAttribute = Exclude<SignalColumn, 'signals_token_sealed'>;
export type AssertionAttribute = (typeof assertionAttributes)[number];

/** The columns of a connection that its reach depends on. */
export type ConnectionState = Pick<
  ConnectionRow,
  | (typeof identityDeciding)[number]
  | AssertionAttribute
  | SignalColumn
  | 'status' | 'options' | 'scopes' | 'allow_registration' | 'account_linking' | 'profile_sync' | 'domains' | 'required' | 'trusted'
  | 'provider_client_secret_sealed' | 'second_factor' | 'trusted_acr_values' | 'organization_id'
>; // prettier-ignore

/** Attributes whose change widens, or redirects, what a connection already reaches. */
const widening = [
  ...identityDeciding,
  ...signalColumns,
  'provider_client_secret_sealed',
  'options',
  'scopes',
  'allow_registration',
  'profile_sync',
  'domains',
  'trusted_acr_values',
] as const satisfies readonly (keyof ConnectionState)[];

const attributeOf = (column: keyof ConnectionState) => column.replace(/_sealed$/, '');
const nameOf = (domain: string) => domainOfEmail(`x@${domain.trim()}`) ?? domain;

/**
 * The attribute by which a write would let a connection sign people in by its word alone (`account_linking` `verified_email`, over the
 * addresses of its `domains` or over all), or without our second step (`second_factor`), bring or keep people to it (`domains`, `required`), or be
 * believed about new ones (`trusted`).
 * Null: it reaches nobody who doesn't prove the local account. `before` null is a creation, `after` null a deletion.
 */
function connectionReach(before: ConnectionState | null, after: ConnectionState | null): string | null {
  // It reaches no further than the verified domains of its organization, and `reachOfConnection` weighs that.
  if ((before ?? after)?.organization_id) return null;
  if ((before?.required ?? false) !== (after?.required ?? false)) return 'required';
  if (after === null) return null;
  if (after.account_linking === 'verified_email' && before?.account_linking !== 'verified_email') return 'account_linking';
  const standsIn = after.second_factor !== 'own';
  if (standsIn && before?.second_factor !== after.second_factor) return 'second_factor';
  if (after.trusted && !before?.trusted) return 'trusted';
  // Those who are linked are not asked again, as they would be by another issuer.
  const taken = after.assertions === 'on' ? assertionAttributes.find((name) => before === null || before[name] !== after[name]) : undefined;
  if (taken !== undefined) return taken;
  const known = new Set(before?.domains.map(nameOf));
  if (after.domains.some((domain) => !known.has(nameOf(domain)))) return 'domains';
  if (before === null || !(after.required || after.account_linking === 'verified_email' || standsIn)) return null;
  const changed = widening.find(isChanged(before, after));
  if (changed !== undefined) return attributeOf(changed);
  const opens = after.required ? before.status !== after.status : before.status !== 'enabled' && after.status === 'enabled';
  return opens ? 'status' : null;
}

/** @throws {Refusal} 403 `scope_escalation` unless the actor holds every Management permission, or the write reaches nobody. */
export function refuseConnectionReach(actor: Actor, before: ConnectionState | null, after: ConnectionState | null): void {
  const attribute = connectionReach(before, after);
  if (attribute !== null) requireEverything(actor, { attribute });
}

const isChanged = (before: ConnectionState, after: ConnectionState) => (name: keyof ConnectionState) =>
  !isDeepStrictEqual(before[name], after[name]);

/**
 * The domains of a connection after the write, `asked` or by itself: a holder of every permission said that the provider of before speaks for them. What
 * anybody else leads elsewhere speaks for none.
 * @throws {Refusal} 403 `scope_escalation` for asking to keep them
 */
export function domainsAfter(
  actor: Actor,
  before: ConnectionState,
  after: ConnectionState,
  requested: readonly string[] | undefined,
): string[] {
  const deciding = after.strategy === 'saml' ? ([...identityDeciding, 'options'] as const) : identityDeciding;
  if (before.domains.length === 0 || holdsEverything(actor) || !deciding.some(isChanged(before, after))) return after.domains;
  if (requested !== undefined && requested.length > 0) requireEverything(actor, { attribute: 'domains' });
  return [];
}

/** Settings whose change would let another provider's assertions count as those of the trusted connection. */
const believed = [...identityDeciding, 'options'] as const;

function staysTrusted(actor: Actor, before: ConnectionState | null, after: ConnectionState): boolean {
  if (before === null) return holdsEverything(actor);
  if (!before.trusted || holdsEverything(actor)) return before.trusted;
  const led = believed.some(isChanged(before, after));
  const opened = (after.allow_registration && !before.allow_registration) || (after.status === 'enabled' && before.status !== 'enabled');
  return !led && !opened;
}

/**
 * Whether the connection is believed after the write, `asked` or by itself: what a holder of every permission makes is, what anybody else
 * led elsewhere or opened to new people is not.
 * @throws {Refusal} 403 `scope_escalation` for asking what only such a holder may
 */
export function trustAfter(actor: Actor, before: ConnectionState | null, after: ConnectionState, requested: boolean | undefined): boolean {
  if (requested === false) return false;
  const stays = staysTrusted(actor, before, after);
  if (requested && !stays) requireEverything(actor, { attribute: 'trusted' });
  return requested ?? stays;
}
