const at = '2026-03-14T09:26:53.589Z';
const user_id = '0195e8a2-6f00-7000-8000-0000000000a1';
const administrator = { actor_kind: 'user' as const, actor_id: '0195e8a2-6f00-7000-8000-0000000000a2' };
const organization = {
  id: '0195e8a2-6f00-7000-8000-000000000141',
  name: 'acme',
  display_name: 'Acme Ltd',
  external_id: 'crm-4711',
  status: 'enabled' as const,
  auto_membership: 'connection' as const,
  require_sso: 'nobody' as const,
  metadata: {},
  created_at: '2026-01-02T08:00:00.000Z',
  updated_at: at,
};
const membership = {
  id: '0195e8a2-6f00-7000-8000-000000000151',
  organization_id: organization.id,
  user_id,
  status: 'active' as const,
  source: 'invitation' as const,
  roles: ['editor'],
  created_at: '2026-01-02T08:00:00.000Z',
  updated_at: at,
};

const directory_user = {
  id: '0195e8a2-6f00-7000-8000-000000000171',
  directory_id: '0195e8a2-6f00-7000-8000-000000000181',
  organization_id: organization.id,
  user_id,
  email: 'ada@acme.example',
  external_id: '00u1abcd',
};
const invitation = {
  id: '0195e8a2-6f00-7000-8000-000000000191',
  organization_id: organization.id,
  email: 'ada@example.com',
  client_id: 'acme-notes',
  roles: ['editor'],
  expires_at: '2026-03-21T09:26:53.589Z',
  created_at: at,
};

/** Examples of the data of the group `organizations`; part of `samples`. */
export const organizationSamples = {
  'organization.created': { ...organization, updated_at: organization.created_at, created_by: administrator },
  'organization.updated': { ...organization, previous_attributes: { display_name: 'Acme' } },
  'organization.deleted': {
    id: organization.id,
    name: organization.name,
    display_name: organization.display_name,
    external_id: organization.external_id,
    deleted_by: administrator,
    deleted_at: at,
  },
  'organization_membership.created': { ...membership, updated_at: membership.created_at, created_by: administrator },
  'organization_membership.updated': { ...membership, status: 'suspended' as const, previous_attributes: { status: 'active' } },
  'organization_membership.deleted': { ...membership, deleted_by: administrator, deleted_at: at },
  'organization_invitation.created': { ...invitation, created_by: administrator },
  'organization_invitation.accepted': {
    ...invitation,
    user_id,
    accepted_by: { actor_kind: 'user' as const, actor_id: user_id },
    accepted_at: '2026-03-15T07:12:00.000Z',
  },
  'organization_domain.verified': {
    id: '0195e8a2-6f00-7000-8000-000000000161',
    organization_id: organization.id,
    domain: 'acme.example',
    verified_at: at,
  },
  'directory.user_provisioned': { ...directory_user, provisioned_at: at },
  'directory.user_deprovisioned': { ...directory_user, deprovisioned_at: at },
};
