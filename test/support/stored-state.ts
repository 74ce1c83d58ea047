import type { Context } from '../../src/domain/context.js';
import { named } from '../../src/lib/named.js';

const tables = [
  'users',
  'roles',
  'user_roles',
  'role_permissions',
  'permissions',
  'clients',
  'client_grants',
  'api_resources',
  'connections',
  'environments',
  'custom_domains',
  'organizations',
  'organization_memberships',
  'organization_membership_roles',
  'organization_default_roles',
  'organization_domains',
  'signing_keys',
  'saml_certificates',
  'webhooks',
  'sessions',
  'identities',
  'consents',
  'events',
  'webhook_deliveries',
  'idempotency_keys',
];

/**
 * A digest of every row that a request could change, and of those of `more` tables; entries of the audit log are what a refusal may leave, and
 * clients are noted as used, and events get their positions.
 */
export async function stateOf(ctx: Context, ...more: readonly string[]): Promise<string> {
  const column: Readonly<Record<string, string>> = named({ clients: 'last_used_at', events: 'position' });
  const text = (name: string) => (column[name] === undefined ? 't::text' : `(to_jsonb(t) - '${column[name]}')::text`);
  const parts = [...tables, ...more].map(
    (name) => `(select coalesce(md5(string_agg(${text(name)}, '|' order by ${text(name)})), '') from ${name} t)`,
  );
  const result = await ctx.db.knex.raw<{ rows: { state: string }[] }>(`select concat(${parts.join(', ')}) as state`);
  return result.rows[0]?.state ?? '';
}
