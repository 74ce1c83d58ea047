import type { SecurityEventName } from '../lib/security-events.js';
import type { AuditEntry, Changes } from './audit-entry.js';

/** A security event that a write is, beside its entry in the audit log. */
export type WrittenEvent = { readonly name: SecurityEventName; readonly detail: Readonly<Record<string, unknown>> };

const namesOf = (changes: Changes) => Object.keys(changes).sort();

/** The changed settings of an environment that guard something: those whose change takes more than the permission to write them. */
function guardingSettings({ resource, changes = {} }: AuditEntry): string[] {
  const { attributes } = resource.reach as { readonly attributes: Readonly<Record<string, string>> };
  return namesOf(changes).filter((name) => Object.hasOwn(attributes, name) && attributes[name] !== 'plain');
}

/**
 * The security events that follow from what was written: one place for the Management API and the dashboard alike. Who holds a role is told by
 * the domain (`domain/users`), which knows each of the people; rotation by the service itself by `jobs/key-rotation`.
 */
export function securityEventsOf(entry: AuditEntry): readonly WrittenEvent[] {
  const { resource, action, changes = {} } = entry;
  const detail = { action: `${resource.type}.${action}` };
  switch (resource.type) {
    case 'permission':
    case 'client_grant':
      return [{ name: 'permission.changed', detail: { ...detail, changed: namesOf(changes) } }];
    case 'role':
      return Object.hasOwn(changes, 'permissions') ? [{ name: 'permission.changed', detail: { ...detail, changed: ['permissions'] } }] : [];
    case 'signing_key':
      return [{ name: 'signing_key.changed', detail }];
    case 'client':
      return action === 'secret_rotated' ? [{ name: 'client_secret.rotated', detail }] : [];
    case 'environment': {
      const settings = action === 'updated' ? guardingSettings(entry) : [];
      const algorithms = action === 'updated' ? changes['signing_algorithms'] : undefined;
      return [
        ...(settings.length > 0 ? [{ name: 'security_setting.changed', detail: { ...detail, settings } } as const] : []),
        // Each algorithm that came has a key that signs from now on; those that went sign no more.
        ...(algorithms ? [{ name: 'signing_key.changed', detail: { ...detail, signing_algorithms: algorithms[1] } } as const] : []),
      ];
    }
    case 'page_text':
      // What people are told where they sign in and decide.
      return [{ name: 'security_setting.changed', detail: { ...detail, settings: ['page_texts'] } }];
    case 'mail_template':
      // What is said in the environment's name, its notices of security among them.
      return action === 'tested' ? [] : [{ name: 'security_setting.changed', detail: { ...detail, settings: ['mail_templates'] } }];
    default:
      return [];
  }
}
