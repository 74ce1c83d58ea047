import { z } from 'zod';
import {
  changeOrganization,
  createOrganization,
  organizationNameProblems,
  removeOrganization,
  type OrganizationInput,
} from '../../domain/organizations/organizations.js';
import { removedWithOrganization } from '../../domain/reach/reach-of.js';
import { reachOfOrganization, switchedWithOrganization } from '../../domain/reach/reach-of-organizations.js';
import { autoMemberships, organizationStatuses, ssoRequirements, type OrganizationRow } from '../../db/tables/organizations.js';
import type { RoleRow } from '../../db/tables/roles.js';
import { matches } from '../../db/lists/conditions.js';
import { boundedText, byIndex, equalTo, indexed, lifetime, searchFilter, shownName, stamps, stampSorts, textSort } from '../fields.js';
import { resource } from '../declaration.js';
import { toLinked, toMany } from '../links.js';
import type { RelatedRows } from '../resource.js';
import { brandingAttributes } from './branding.js';
import { metadataAttribute } from './user-attributes.js';

const name = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$/, 'must be 2 to 63 lower-case letters, digits and inner hyphens')
  .meta({ description: 'A slug, which applications may send as `organization`, and read as `org_name`; not `choose`, nor a UUID.' });
const autoMembership = z.enum(autoMemberships).meta({
  description:
    'Who becomes a member by signing in: nobody (`none`), whoever comes through a connection of it (`connection`, unless said), or also whoever has a verified address of its domains (`domain`). They get `default_roles`. Who was removed stays out.',
});
const requireSso = z.enum(ssoRequirements).meta({
  description:
    'Who has to sign in through a connection of it: `nobody` (unless said), people with an address of its verified `domains`, or `everyone`.',
});
const status = z.enum(organizationStatuses).meta({
  description: '`disabled`: nobody signs in for it, its tokens are worth nothing, and it can be deleted.',
});
const branding = z.strictObject(brandingAttributes).meta({ description: 'How pages look to people who sign in for it.' });

const named = (related: RelatedRows) => related['default_roles'] as unknown as readonly RoleRow[] | undefined;

export const organizations = resource<OrganizationRow, OrganizationInput, OrganizationInput>({
  type: 'organization',
  path: 'organizations',
  description: 'Business customers: companies whose people sign in as members, with roles that count there alone.',
  attributes: z.object(stamps),
  computed: { logo_url: (row) => row.branding.logo_url ?? null, primary_color: (row) => row.branding.primary_color ?? null },
  organization: { column: 'id', without: ['create', 'delete'], fixed: ['status', 'external_id'] },
  reach: {
    of: (tx, row) => reachOfOrganization(tx, row.id),
    removed: removedWithOrganization,
    changed: { status: switchedWithOrganization, require_sso: switchedWithOrganization },
  },
  settable: {
    name: ['plain', name, 'needed and fixed'],
    display_name: ['control', shownName(100), 'needed'],
    external_id: ['control', boundedText(255).nullable()],
    logo_url: ['control', brandingAttributes.logo_url.unwrap()],
    primary_color: ['control', brandingAttributes.primary_color.unwrap()],
    branding: ['control', branding],
    status: ['control', status],
    auto_membership: ['control', autoMembership],
    require_sso: ['control', requireSso],
    required_acr: ['control', z.enum(['2', 'phr']).nullable()],
    max_authentication_age: ['control', lifetime(0, 400 * 86_400).nullable()],
    metadata: ['plain', metadataAttribute],
  },
  relationships: {
    default_roles: toLinked<OrganizationRow, RoleRow>(
      'role',
      { table: 'organization_default_roles', near: 'organization_id' },
      'What new members get who are given no other roles; of the kind `organization`.',
      (tx, _actor, row, change) => changeOrganization(tx, row, {}, change),
    ),
    memberships: toMany('organization_membership', 'organization_id', 'Who is a member.'),
    domains: toMany('organization_domain', 'organization_id', 'Its domains.', { include: true }),
    connections: toMany('connection', 'organization_id', 'Through which its people sign in.', { include: true }),
  },
  filters: {
    name: byIndex(equalTo('name', boundedText(63), 'The exact name.')),
    external_id: byIndex(equalTo('external_id', boundedText(255), 'The id in another system.')),
    status: equalTo('status', z.enum(organizationStatuses), 'Enabled or disabled.'),
    domain: {
      description: 'Has this domain, verified or not. Takes `organization_domains:read` too.',
      schema: z.string().min(1).max(253).toLowerCase(),
      needs: () => ['organization_domains:read'],
      condition: (_ctx, values) =>
        matches(
          `exists (select from organization_domains d where d.environment_id = organizations.environment_id and d.organization_id = organizations.id and d.domain = any (?))`,
          [[...values]],
        ),
    },
    search: searchFilter(
      ['organizations.display_name', 'organizations.name', "coalesce(organizations.external_id, '')", 'organizations.id::text'],
      'Display name, name or external id',
    ),
  },
  sorts: indexed({
    ...stampSorts('organizations'),
    name: textSort('organizations.name'),
    display_name: textSort('organizations.display_name'),
  }),
  create: {
    problems: (_ctx, input) => organizationNameProblems(input),
    run: async (tx, actor, input, related) => ({ row: await createOrganization(tx, actor, input, named(related) ?? []) }),
  },
  update: {
    run: async (tx, _actor, row, input, related) => ({ row: await changeOrganization(tx, row, input, { replace: named(related) }) }),
  },
  remove: { run: removeOrganization },
  display: (row) => row.name,
});
