import { rowFunctions, type RecordRow } from '../records.js';
import { run, table, type Scope } from '../scope.js';
import type { ClientRow } from './clients.js';

export const organizationStatuses = ['enabled', 'disabled'] as const;
export const autoMemberships = ['none', 'connection', 'domain'] as const;
export const ssoRequirements = ['nobody', 'domains', 'everyone'] as const;

/** A row of `organizations`: a customer of whoever runs the environment. */
export type OrganizationRow = RecordRow & {
  /** A slug, which applications may send as `organization` instead of the id. */
  name: string;
  display_name: string;
  external_id: string | null;
  status: (typeof organizationStatuses)[number];
  /** Who becomes a member by signing in: nobody, who comes through a connection of it, or also whoever has a verified address of its domains. */
  auto_membership: (typeof autoMemberships)[number];
  /** Whose sign-in has to come through a connection of it: nobody's, that of people with an address of its domains, or everybody's. */
  require_sso: (typeof ssoRequirements)[number];
  branding: ClientRow['branding'];
  required_acr: '2' | 'phr' | null;
  /** Seconds. */
  max_authentication_age: number | null;
  metadata: Record<string, unknown>;
};

const by = async (scope: Scope, key: Partial<OrganizationRow>): Promise<OrganizationRow | null> =>
  (await table<OrganizationRow>(scope, 'organizations')
    .where(key as never)
    .first()) ?? null;

export const findOrganizationById = (scope: Scope, id: string): Promise<OrganizationRow | null> => by(scope, { id });

export const findOrganizationByName = (scope: Scope, name: string): Promise<OrganizationRow | null> => by(scope, { name });

/** With an organization all that is its own is deleted; the users stay. */
export const {
  insert: insertOrganization,
  update: updateOrganization,
  remove: deleteOrganization,
} = rowFunctions<OrganizationRow>('organizations');

/** Whether the environment has more organizations, or more domains of theirs, than that. */
export async function hasMoreOrganizations(scope: Scope, limit: number): Promise<boolean> {
  const among = (name: string) => `(select count(*) from (select 1 from ${name} where environment_id = $1 limit $2::integer + 1) counted)`;
  const text = `select greatest(${among('organizations')}, ${among('organization_domains')}) > $2::integer as is_more`;
  const [row] = await run<{ is_more: boolean }>(scope, { name: 'organizations.has_more', text }, [limit]);
  return row?.is_more ?? false;
}
