/** The collections of the Management API; each has the permissions `{collection}:read` and `{collection}:write`. */
export const managementCollections = [
  'users',
  'authenticators',
  'roles',
  'permissions',
  'clients',
  'client_grants',
  'registration_tokens',
  'trusted_issuers',
  'federated_credentials',
  'api_resources',
  'connections',
  'signing_keys',
  'sessions',
  'environments',
  'custom_domains',
  'webhooks',
  'log_streams',
  'mail_templates',
  'page_texts',
  'logos',
  'event_types',
  'audit_logs',
  'security_events',
  'request_traces',
] as const;

/** Collections that nobody writes through the API. */
const readOnly: ReadonlySet<string> = new Set(['event_types', 'audit_logs', 'security_events', 'request_traces']);

/** Permissions of what concerns no single record. */
const others = ['diagnostics:read'];

/** Every permission of the built-in Management API resource. */
export const managementPermissions: readonly string[] = [
  ...managementCollections.flatMap((collection) =>
    readOnly.has(collection) ? [`${collection}:read`] : [`${collection}:read`, `${collection}:write`],
  ),
  ...others,
];

/** The role that holds all of them. */
export const administratorRole = 'administrator';
