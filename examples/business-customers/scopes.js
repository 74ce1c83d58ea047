/** What the pages for members need of the Management API. */
export const managementScopes = [
  'organizations:read',
  'organization_memberships:read',
  'organization_memberships:write',
  'organization_invitations:read',
  'organization_invitations:write',
  'roles:read',
];
