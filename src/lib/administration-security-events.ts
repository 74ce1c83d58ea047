import { changeOf, refusalOf } from './security-event.js';

/** Security events of what administrators and the service itself change, and of clients that don't prove who they are; part of `securityEvents`. */
export const administrationSecurityEvents = {
  'role.assigned': {
    ...changeOf(
      'access_granted',
      'warning',
      'who acts through the Management API or the dashboard; the service for the first administrator',
      'user',
    ),
    description: 'Somebody was given `roles`, beside the default ones.',
  },
  'role.withdrawn': {
    ...changeOf('access_withdrawn', 'warning', 'who acts through the Management API or the dashboard', 'user'),
    description: 'Somebody lost `roles`.',
  },
  'permission.changed': {
    ...changeOf('access_changed', 'warning', 'who acts through the Management API or the dashboard', 'permission, role or client_grant'),
    description: 'A permission, a role’s permissions, or what a client may have was changed (`action`).',
  },
  'signing_key.changed': {
    ...changeOf(
      'configuration_changed',
      'warning',
      'who acts through the Management API or the dashboard; the service',
      'signing_key; saml_certificate; environment where its algorithms were changed',
    ),
    description:
      'A signing key or SAML certificate was generated or activated, a signing key deactivated, or an environment signs with other algorithms (`signing_algorithms`); `action` says which.',
  },
  'user_export.taken': {
    ...changeOf('access_changed', 'warning', 'who acts through the Management API or the dashboard', 'user_export'),
    description: 'Somebody fetched the data of all users, with `include_password_hashes` their hashes too.',
  },
  'client_secret.rotated': {
    ...changeOf(
      'configuration_changed',
      'warning',
      'who acts through the Management API or the dashboard; the service for MANAGEMENT_CLIENT_SECRET',
      'client',
    ),
    description: 'A client has a new secret.',
  },
  'client_credential.changed': {
    ...changeOf(
      'configuration_changed',
      'warning',
      'who acts through the Management API or the dashboard; the client itself',
      'client, federated_credential or trusted_issuer',
    ),
    description: 'What proves a client (`settings`) was changed, came or went (`action`).',
  },
  'client_tokens.revoked': {
    ...changeOf('configuration_changed', 'warning', 'who acts through the Management API or the dashboard', 'client'),
    description: 'Everything that was issued to a client until then was ended (`tokens_not_before`).',
  },
  'security_setting.changed': {
    class: 'configuration_changed',
    severity: 'warning',
    outcome: 'success',
    recorded: 'transaction',
    actor: 'who acts through the Management API or the dashboard; the client itself; the service',
    target:
      'environment, client, connection, custom_domain, api_resource, role, user, webhook, log_stream, registration_token, mail_template, page_text, or what is an organization’s',
    description: 'What guards something was changed, came or went. `settings` names it, `action` says how; the audit log has the values.',
  },
  'config.applied': {
    ...changeOf('configuration_changed', 'warning', 'who acts through the Management API', 'config'),
    description: 'A configuration document was applied.',
  },
  'secret_key.changed': {
    ...changeOf('configuration_changed', 'warning', 'the service', 'environment'),
    description: 'The service seals with another SECRET_KEY, that of `key_id`.',
  },
  'client.authentication_failed': {
    ...refusalOf('logon', 'info', 'failure', 'anonymous', 'client, if there is one'),
    description: 'A client did not prove who it is: `not_proven`, `unknown_client` or `no_credentials`.',
  },
} as const;
