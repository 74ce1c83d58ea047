/** The collections of the Management API; each has the permissions `{collection}:read` and `{collection}:write`. */
export const managementCollections = [
  'users',
  'user_imports',
  'user_exports',
  'authenticators',
  'roles',
  'permissions',
  'clients',
  'client_grants',
  'registration_tokens',
  'trusted_issuers',
  'federated_credentials',
  'api_resources',
  'authorization_detail_types',
  'external_servers',
  'outbound_grants',
  'connections',
  'provider_grants',
  'organizations',
  'organization_memberships',
  'organization_invitations',
  'organization_domains',
  'organization_groups',
  'directories',
  'setup_links',
  'signing_keys',
  'saml_certificates',
  'sessions',
  'environments',
  'custom_domains',
  'webhooks',
  'log_streams',
  'signal_streams',
  'mail_templates',
  'page_texts',
  'logos',
  'event_types',
  'events',
  'audit_logs',
  'security_events',
  'request_traces',
] as const;

/** Collections that nobody writes through the API. */
const readOnly: ReadonlySet<string> = new Set(['event_types', 'events', 'audit_logs', 'security_events', 'request_traces']);

/** Stands for every permission of every API but this one where reach is weighed (`domain/reach`): whoever holds it has power over everybody's APIs. */
export const credentialsWrite = 'credentials:write';

/** Permissions of what concerns no single collection. */
const others = ['diagnostics:read', 'password_hashes:read', credentialsWrite];

/** Every permission of the built-in Management API resource. */
export const managementPermissions: readonly string[] = [
  ...managementCollections.flatMap((collection) =>
    readOnly.has(collection) ? [`${collection}:read`] : [`${collection}:read`, `${collection}:write`],
  ),
  ...others,
];

export function describePermission(permission: string): string {
  if (permission === credentialsWrite)
    return 'Control over all APIs: includes every permission of every other API resource when the credentials, guards, grants and roles of clients, people and APIs are changed. It reads and writes no collection by itself.';
  if (permission === 'password_hashes:read')
    return 'Export the hashes of everybody’s passwords, which can be guessed at for as long as it takes.';
  const [collection = '', verb = ''] = permission.split(':');
  return `${verb === 'read' ? 'See' : 'Create, change and delete'} ${collection.replaceAll('_', ' ').replace(/^api /, 'API ')}.`;
}

export const administratorRole = 'administrator';

/** What counts in a token that is bound to an organization (specification 16.5.1); whatever else its roles hold of the Management API is worth nothing there. */
export const organizationPermissions: readonly string[] = [
  ...[
    'organizations',
    'organization_memberships',
    'organization_invitations',
    'organization_domains',
    'organization_groups',
    'directories',
    'setup_links',
    'connections',
  ].flatMap((collection) => [`${collection}:read`, `${collection}:write`]),
  'roles:read',
  'audit_logs:read',
];

/** Of the kind `organization`: whoever has it administers the organization, and nothing beside it (specification 16.5). */
export const organizationAdminRole = 'organization_admin';
