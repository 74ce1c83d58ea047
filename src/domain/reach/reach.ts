import type { Actor } from '../actor.js';
import { credentialsWrite, managementPermissions } from './management-permissions.js';
import { Refusal } from '../refusal.js';

/**
 * The reach of a principal (a client, person, connection, domain, key, role, webhook, environment): every permission that whoever
 * controls it could come to hold or act with: those of the Management API by their names, those of any other API resource as
 * `{identifier}#{permission}` (an identifier has no fragment). No write raises the reach of anything beyond what its actor holds, and no write hands control
 * of what reaches further than the actor to somebody else. This file decides it; `reach-of.ts` says how far each principal reaches.
 */
export type Reach = ReadonlySet<string>;

export const noReach: Reach = new Set();

/** The reach of whatever everybody of the environment depends on: its mails, its sign-ins, its keys. `credentials:write` in it is every other API. */
export const fullReach: Reach = new Set(managementPermissions);

export const union = (one: Iterable<string>, other: Iterable<string>): Reach => new Set([...one, ...other]);

/**
 * What a change means for whoever could act with the record:
 * - `plain`: nothing, unless it raises the reach after all;
 * - `reach`: it decides how far the record reaches: what it adds, and what it takes away, must be held;
 * - `control`: it decides who acts with the record, or whether anybody can: all that the record reaches, before and after, must be held;
 * - `reach and control`: both;
 * - `everything`: it reaches everybody, whatever the record: every Management permission must be held.
 */
export type Touch = 'plain' | 'reach' | 'control' | 'reach and control' | 'everything';

/** A part of the record that a write touches; the place is for the error's pointer. */
export type Touched = { readonly touch: Touch; readonly at: { readonly attribute?: string; readonly relationship?: string } };

/** A write as the decision sees it: how far the record reached, how far it reaches then (nothing for what isn't there), what was touched. */
export type ReachChange = { readonly before: Reach; readonly after: Reach; readonly touched: readonly Touched[] };

const without = (one: Reach, other: Reach) => [...one].filter((name) => !other.has(name));

export function permissionsOf({ before, after, touched }: ReachChange): Reach {
  const touches = new Set(touched.map((one) => one.touch));
  const needed = new Set(without(after, before));
  if (touches.has('reach')) for (const name of without(before, after)) needed.add(name);
  if (touches.has('control') || touches.has('reach and control')) for (const name of union(before, after)) needed.add(name);
  if (touches.has('everything')) for (const name of fullReach) needed.add(name);
  return needed;
}

const blame: readonly Touch[] = ['everything', 'reach', 'reach and control', 'control', 'plain'];

/** The place that an error points at: where the reach itself is decided, if that was touched. */
function attributeOf({ before, after, touched }: ReachChange): Touched['at'] {
  const grew = without(after, before).length > 0 || without(before, after).length > 0;
  const order = grew ? blame : (['everything', 'control', 'reach and control', 'reach', 'plain'] as const);
  for (const touch of order) {
    const found = touched.find((one) => one.touch === touch);
    if (found) return found.at;
  }
  return {};
}

/** A permission of another API resource than the Management API, as a reach holds it. */
export const elsewhere = (identifier: string, permission: string): string => `${identifier}#${permission}`;

export const isElsewhere = (name: string): boolean => name.includes('#');

type Holder = Pick<Actor, 'permissions' | 'elsewhere' | 'organization_id' | 'reach'>;

/**
 * Those of the permissions that the actor doesn't hold, by name. `credentials:write` stands for all of other APIs. Who acts for an organization hands out the roles that the
 * environment has for organizations: what these hold at other APIs counts within the organization alone.
 */
export function lackedBy(actor: Holder, names: Iterable<string>): string[] {
  const holdsAll = actor.permissions.has(credentialsWrite) || Boolean(actor.organization_id);
  const holdsElsewhere = (name: string) => holdsAll || actor.elsewhere?.has(name) === true;
  const holds = (name: string) =>
    isElsewhere(name) ? holdsElsewhere(name) : actor.permissions.has(name) || actor.reach?.has(name) === true;
  return [...new Set(names)].filter((name) => !holds(name)).sort();
}

const beyond = `Permissions of other APIs are named {identifier}#{permission}: hold each of them, or ${credentialsWrite}, which includes all.`;

/** Refuses to hand out, or take over, permissions that the actor doesn't hold (CWE-269). @throws {Refusal} 403 `scope_escalation` */
function refuseEscalation(actor: Holder, permissions: Iterable<string>, at: Touched['at']): void {
  const required = lackedBy(actor, permissions);
  if (required.length === 0) return;
  const detail = 'This would hand out, or take over, permissions that you do not hold.';
  throw new Refusal({
    status: 403,
    code: 'scope_escalation',
    detail: required.some(isElsewhere) ? `${detail} ${beyond}` : detail,
    meta: { required },
    ...at,
  });
}

/**
 * The one decision about reach.
 * @returns the permissions that the change took
 * @throws {Refusal} 403 `scope_escalation`, naming in `meta.required` what the actor lacks
 */
export function requireReach(actor: Holder, change: ReachChange): Reach {
  const needed = permissionsOf(change);
  refuseEscalation(actor, needed, attributeOf(change));
  return needed;
}

/** Whether the actor holds every permission of the Management API, so that nothing it does can raise anybody above it. */
export const holdsEverything = (actor: Pick<Actor, 'permissions'>): boolean =>
  managementPermissions.every((permission) => actor.permissions.has(permission));

/**
 * Refuses what reaches everybody of the environment (its mails, its sign-ins) to whoever doesn't hold every Management permission.
 * @param at attribute or relationship that would reach so far, for the error's pointer
 * @throws {Refusal} 403 `scope_escalation`
 */
export function requireEverything(actor: Pick<Actor, 'permissions'>, at: { attribute?: string; relationship?: string } = {}): void {
  requireReach(actor, { before: noReach, after: noReach, touched: [{ touch: 'everything', at }] });
}

/** Strangers: clients that register themselves, people before they have an account. They hold nothing. */
export const stranger: Pick<Actor, 'permissions'> = { permissions: noReach };
