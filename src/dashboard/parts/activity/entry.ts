import type { ResourceObject } from '../../../management/documents.js';
import { isSecurityEvent, type SecurityEventName } from '../../../lib/security-events.js';

/** Who did something, or what it was done to. */
export type Party = { readonly type: string; readonly id: string | null; readonly display: string | null };

/** What the audit log and the list of security events both have of what happened. */
export type ActivityEntry = {
  /** Null for an operation that is no security event. */
  readonly event: SecurityEventName | null;
  /** The operation of the Management API that it was, or belongs to, such as `client.updated`; null for none. */
  readonly operation: string | null;
  readonly outcome: 'success' | 'denied' | 'failure';
  readonly reason: string | null;
  readonly actor: Party;
  readonly target: Party;
  /** What the kind of event has beside them; of an operation the new values. */
  readonly detail: Readonly<Record<string, unknown>>;
  readonly occurred_at: string;
  readonly ip_address: string | null;
  readonly user_agent: string | null;
  readonly request_id: string | null;
  readonly count: number;
};

type Actor = { actor_kind: string; actor_id: string | null; display: string | null };
type Target = { target_type: string; target_id: string | null; display: string | null };
type Attributes = ResourceObject['attributes'];

const actorOf = (actor: Actor): Party => ({ type: actor.actor_kind, id: actor.actor_id, display: actor.display });
const targetOf = ({ target_type: type, target_id: id, display }: Target): Party => ({ type, id, display });

const common = (a: Attributes) => ({
  outcome: a['outcome'] as ActivityEntry['outcome'],
  actor: actorOf(a['actor'] as Actor),
  occurred_at: a['occurred_at'] as string,
  ip_address: a['ip_address'] as string | null,
  user_agent: a['user_agent'] as string | null,
  request_id: a['request_id'] as string | null,
  count: a['count'] as number,
});

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export function entryOfLog({ attributes: a }: ResourceObject): ActivityEntry {
  const detail = Object.fromEntries(
    Object.entries(a['changes'] as Record<string, [unknown, unknown]>).map(([name, [, now]]) => [name, now]),
  );
  const action = a['action'] as string;
  const event = isSecurityEvent(action) ? action : null;
  const target = targetOf((a['targets'] as [Target])[0]);
  return {
    ...common(a),
    event,
    operation: event === null ? action : textOf(detail['action']),
    reason: textOf(a['reason']),
    target,
    detail,
  };
}

export function entryOfEvent({ attributes: a }: ResourceObject): ActivityEntry {
  const { reason, target, ...detail } = a['detail'] as { reason: string | null; target: Target } & Record<string, unknown>;
  const name = a['event'] as string;
  const event = isSecurityEvent(name) ? name : null;
  return { ...common(a), event, operation: event === null ? name : textOf(detail['action']), reason, target: targetOf(target), detail };
}
