import { securityEvents, type SecurityEventName } from '../../../lib/security-events.js';
import { operationNames } from '../../../management/audit.js';
import type { ResourceRegistry, Resource } from '../../../management/resource.js';
import type { Choice } from '../page-parts.js';
import type { ViewContext } from '../records/presentation.js';
import { terms } from '../words.js';
import type { ActivityEntry, Party } from './entry.js';
import { storedNames } from './names.js';
import { nounOf, operationWords } from './operations.js';
import { activitySentence } from './sentences.js';

const operationsOfResource = (resource: Resource): string[] => {
  const { type, create, update, remove, actions = {}, relationships } = resource;
  const changes = update !== undefined || Object.values(relationships).some((one) => one.kind === 'many' && one.change !== undefined);
  return [
    ...(create ? [operationNames.create(resource)] : []),
    ...(changes ? [operationNames.update()] : []),
    ...Object.keys(actions).map((verb) => operationNames.act(resource, verb)),
    ...(remove ? [operationNames.remove(resource)] : []),
  ].map((verb) => `${type}.${verb}`);
};

/** Every operation that leaves an entry when it is done. */
export const operationsOf = (registry: ResourceRegistry): string[] => [
  ...new Set([...registry.byType.values()].flatMap(operationsOfResource)),
  'audit_log.exported',
];

const nobody: Party = { type: 'anonymous', id: null, display: null };

/** A security event that says nothing but its name, and what is given. */
export const bareEntry = (event: SecurityEventName, entry: Partial<ActivityEntry> = {}): ActivityEntry => ({
  event,
  operation: null,
  outcome: securityEvents[event].outcome,
  reason: null,
  actor: nobody,
  target: nobody,
  detail: {},
  occurred_at: '',
  count: 1,
  ip_address: null,
  user_agent: null,
  request_id: null,
  ...entry,
});

const byLabel = (one: Choice, other: Choice) => (one.group ?? '').localeCompare(other.group ?? '') || one.label.localeCompare(other.label);

export const securityEventChoices = async (): Promise<Choice[]> =>
  (Object.keys(securityEvents) as SecurityEventName[])
    .map((value) => ({ value, label: activitySentence(bareEntry(value), storedNames).text }))
    .sort(byLabel);

/** The same with the operations, by the kind of record; security events last. */
export const actionChoices = async ({ req: { call } }: ViewContext): Promise<Choice[]> => [
  ...operationsOf(call.registry)
    .map((value) => ({ value, label: operationWords(value)?.done ?? value, group: nounOf(value.split('.')[0] ?? '') }))
    .sort(byLabel),
  ...(await securityEventChoices()).map((choice) => ({ ...choice, group: terms.security_events })),
];
