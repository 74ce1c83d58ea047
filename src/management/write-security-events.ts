import { clientCredentials } from '../domain/clients/trail.js';
import type { SecurityEventName } from '../lib/security-events.js';
import type { AuditEntry, Changes } from './audit-entry.js';

/** A security event that a write is, beside its entry in the audit log. */
export type WrittenEvent = { readonly name: SecurityEventName; readonly detail: Readonly<Record<string, unknown>> };

const namesOf = (changes: Changes) => Object.keys(changes).sort();

/** Whether what differs between the two states of a record is more than what is plain of it: the same table that says what a change takes (specification 13). */
function guards({ resource }: AuditEntry, name: string): boolean {
  const attributes: Readonly<Record<string, string>> = resource.reach?.attributes ?? {};
  const relationships = resource.relationships ?? {};
  if (Object.hasOwn(attributes, name)) return attributes[name] !== 'plain';
  const relationship = Object.hasOwn(relationships, name) ? relationships[name] : undefined;
  return relationship?.kind === 'many' && (relationship.change?.touch ?? 'plain') !== 'plain';
}

/** What of the write decides who acts with the record, how far it reaches, or what guards it. */
const guardsOf = (entry: AuditEntry): string[] => namesOf(entry.changes ?? {}).filter((name) => guards(entry, name));

const settingsChanged = (detail: WrittenEvent['detail'], settings: readonly string[]): WrittenEvent[] =>
  settings.length > 0 ? [{ name: 'security_setting.changed', detail: { ...detail, settings } } as const] : [];

const credentialsChanged = (detail: WrittenEvent['detail'], settings: readonly string[]): WrittenEvent[] =>
  settings.length > 0 ? [{ name: 'client_credential.changed', detail: { ...detail, settings } } as const] : [];

/** Its secret, its keys and method, and what else guards it: apart, for whoever watches what can pass for a client. */
function eventsOfClient(entry: AuditEntry, detail: WrittenEvent['detail']): WrittenEvent[] {
  if (entry.action === 'secret_rotated') return [{ name: 'client_secret.rotated', detail }];
  if (entry.action === 'tokens_revoked') return [{ name: 'client_tokens.revoked', detail }];
  if (entry.action === 'verified') return settingsChanged(detail, ['verified']);
  const changed = guardsOf(entry);
  const proves = (name: string) => clientCredentials.includes(name);
  return [
    ...credentialsChanged(detail, changed.filter(proves)),
    ...settingsChanged(
      detail,
      changed.filter((name) => !proves(name)),
    ),
  ];
}

/** Whether a domain is there and proven, and what it is for. A look that found nothing new is none. */
const domainSettings = (entry: AuditEntry) =>
  namesOf(entry.changes ?? {}).filter((name) => ['domain', 'status'].includes(name) || guards(entry, name));

/**
 * The security events that follow from what was written: one place for the Management API and the dashboard alike. Whatever isn't `plain` of a record
 * guards something, and its change is one. Who holds a role, and what signs a person in, is told by the domain (`domain/users`,
 * `domain/authenticators`), which knows each of the people; rotation by the service itself by `jobs/key-rotation`.
 */
export function securityEventsOf(entry: AuditEntry): readonly WrittenEvent[] {
  const { resource, action, changes = {} } = entry;
  const detail = { action: `${resource.type}.${action}` };
  switch (resource.type) {
    case 'permission':
    case 'client_grant':
      return [{ name: 'permission.changed', detail: { ...detail, changed: namesOf(changes) } }];
    case 'role': {
      const gone = action === 'deleted' || Object.hasOwn(changes, 'permissions');
      const settings = guardsOf(entry).filter((name) => name !== 'permissions' && action !== 'deleted');
      return [
        ...(gone ? [{ name: 'permission.changed', detail: { ...detail, changed: ['permissions'] } } as const] : []),
        ...settingsChanged(detail, settings),
      ];
    }
    case 'signing_key':
    case 'saml_certificate':
      return [{ name: 'signing_key.changed', detail }];
    case 'client':
      return eventsOfClient(entry, detail);
    case 'federated_credential':
    case 'trusted_issuer':
      return credentialsChanged(detail, guardsOf(entry));
    case 'organization_membership':
    case 'organization_invitation':
      // Told by the domain, which knows what came of it.
      return [];
    case 'directory':
      return settingsChanged(detail, action === 'updated' ? guardsOf(entry) : ['token']);
    case 'organization_domain':
    case 'custom_domain':
      return settingsChanged(detail, domainSettings(entry));
    case 'authenticator':
      // Its name: those that come and go are told by the domain.
      return action === 'updated' ? settingsChanged(detail, guardsOf(entry)) : [];
    case 'registration_token':
      // Whoever has it registers clients.
      return settingsChanged(detail, ['registration_tokens']);
    case 'environment': {
      const algorithms = action === 'updated' ? changes['signing_algorithms'] : undefined;
      return [
        ...settingsChanged(detail, guardsOf(entry)),
        // Each algorithm that came has a key that signs from now on; those that went sign no more.
        ...(algorithms ? [{ name: 'signing_key.changed', detail: { ...detail, signing_algorithms: algorithms[1] } } as const] : []),
      ];
    }
    case 'authorization':
      // As when the person does it; that it is blocked is an event by its own name.
      return action === 'revoked' ? [{ name: 'consent.withdrawn', detail }] : [];
    case 'page_text':
      // What people are told where they sign in and decide.
      return settingsChanged(detail, ['page_texts']);
    case 'mail_template':
      // What is said in the environment's name, its notices of security among them.
      return action === 'tested' ? [] : settingsChanged(detail, ['mail_templates']);
    case 'user':
      // People come and go without its guarding anything; their roles are told by name.
      return settingsChanged(detail, action === 'updated' ? guardsOf(entry).filter((name) => name !== 'roles') : []);
    default:
      return settingsChanged(detail, action === 'secret_rotated' ? ['signing_secret'] : guardsOf(entry));
  }
}
