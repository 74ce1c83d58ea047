/** Security events of what administrators and the service itself change, and of clients that don't prove who they are; part of `securityEvents`. */
export const administrationSecurityEvents = {
  'role.assigned': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard; the service for the first administrator',
    target: 'user',
    description: 'Somebody was given roles: `roles`. Default roles, which everybody gets, are not told.',
  },
  'role.withdrawn': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'user',
    description: 'Somebody lost roles: `roles`.',
  },
  'permission.changed': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'permission, role or client_grant',
    description:
      'What people or clients may do was changed: a permission, the permissions of a role, or what a client may have; `action` says how.',
  },
  'signing_key.changed': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard; the service when it rotates',
    target: 'signing_key',
    description: 'A signing key was generated, activated or deactivated; `action` says which.',
  },
  'client_secret.rotated': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard; the service for MANAGEMENT_CLIENT_SECRET',
    target: 'client',
    description: 'A client has a new secret.',
  },
  'security_setting.changed': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'environment',
    description: 'Settings of an environment that guard something were changed: `settings` names them, the audit log has their values.',
  },
  'secret_key.changed': {
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the service',
    target: 'environment',
    description: 'The service seals with another SECRET_KEY, that of `key_id`; told once, in the default environment.',
  },
  'client.authentication_failed': {
    severity: 'info',
    outcome: 'failure',
    kept: 'collected',
    actor: 'anonymous',
    target: 'client, if there is one',
    description:
      'A client did not prove who it is: `not_proven`, `unknown_client` or `no_credentials`. A client_id that is nobody’s is recorded nowhere.',
  },
} as const;
