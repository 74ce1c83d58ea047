/** Security events of what administrators and the service itself change, and of clients that don't prove who they are; part of `securityEvents`. */
export const administrationSecurityEvents = {
  'role.assigned': {
    class: 'access_granted',
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard; the service for the first administrator',
    target: 'user',
    description: 'Somebody was given roles: `roles`. Default roles, which everybody gets, are not told.',
  },
  'role.withdrawn': {
    class: 'access_withdrawn',
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'user',
    description: 'Somebody lost roles: `roles`.',
  },
  'permission.changed': {
    class: 'access_changed',
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'permission, role or client_grant',
    description:
      'What people or clients may do was changed: a permission, the permissions of a role, or what a client may have; `action` says how.',
  },
  'signing_key.changed': {
    class: 'configuration_changed',
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor:
      'who acts through the Management API or the dashboard; the service when it rotates, or the profile of a client needs an algorithm',
    target: 'signing_key; environment where its algorithms were changed',
    description:
      'A signing key was generated, activated or deactivated, or an environment signs with other algorithms (`signing_algorithms`); `action` says which.',
  },
  'client_secret.rotated': {
    class: 'configuration_changed',
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard; the service for MANAGEMENT_CLIENT_SECRET',
    target: 'client',
    description: 'A client has a new secret.',
  },
  'client_credential.changed': {
    class: 'configuration_changed',
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor:
      'who acts through the Management API or the dashboard; the client that changes its own registration, or whose metadata document did',
    target: 'client, federated_credential or trusted_issuer',
    description:
      'What proves a client was changed, came or went: its keys or its method, a federated credential, a trusted issuer. `settings` names it, `action` says how.',
  },
  'client_tokens.revoked': {
    class: 'configuration_changed',
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API or the dashboard',
    target: 'client',
    description: 'Everything that was issued to a client until then was ended (`tokens_not_before`).',
  },
  'security_setting.changed': {
    class: 'configuration_changed',
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor:
      'who acts through the Management API or the dashboard; the client that changes its own registration, or whose metadata document did; the service for a domain that is no longer proven',
    target:
      'environment, client, connection, custom_domain, api_resource, role, user, webhook, log_stream, registration_token, mail_template or page_text',
    description:
      'What guards something was changed, came or went: who acts with the record, how far it reaches, what it demands. `settings` names it, `action` says how; the audit log has the values.',
  },
  'config.applied': {
    class: 'configuration_changed',
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'who acts through the Management API',
    target: 'config',
    description: 'A configuration document was applied; the audit log has how many records it created, updated and deleted.',
  },
  'secret_key.changed': {
    class: 'configuration_changed',
    severity: 'warning',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the service',
    target: 'environment',
    description: 'The service seals with another SECRET_KEY, that of `key_id`; told once, in the default environment.',
  },
  'client.authentication_failed': {
    class: 'logon',
    severity: 'info',
    outcome: 'failure',
    kept: 'collected',
    actor: 'anonymous',
    target: 'client, if there is one',
    description:
      'A client did not prove who it is: `not_proven`, `unknown_client` or `no_credentials`. A client_id that is nobody’s is recorded nowhere.',
  },
} as const;
