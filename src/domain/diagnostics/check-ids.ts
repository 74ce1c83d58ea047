/** The names of the checks, apart from what they look with: the doctor’s help loads none of it. */
export const checkIds = [
  'config',
  'database',
  'migrations',
  'secret_key',
  'issuer',
  'proxy',
  'tls',
  'cookies',
  'clock',
  'disk',
  'signing_keys',
  'mail',
  'outbox',
  'feed',
  'loops',
  'webhooks',
  'connections',
  'saml',
  'organizations',
  'log_streams',
  'clients',
  'settings',
  'administrators',
  'versions',
] as const;

export type CheckId = (typeof checkIds)[number];
