/** What happens to organizations and by their directories, in words; part of all sentences. */
export const organizationSentences = {
  'directory.user_provisioned': ['Let in by the organization’s directory', 'good'],
  'directory.user_linked': ['Account taken over by the organization’s directory', 'quiet'],
  'directory.user_deprovisioned': ['Shut out by the organization’s directory', 'warning'],
  'directory.group_changed': ['Group changed by the organization’s directory', 'quiet'],
  'directory.authentication_failed': ['Token of a directory refused', 'warning', 'Give its provider the present token.'],
  'organization_member.added': ['Became a member of an organization', 'good'],
  'organization_member.changed': ['Membership of an organization changed', 'quiet'],
  'organization_member.removed': ['Is a member of an organization no more', 'warning'],
  'invitation.sent': ['Invitation to an organization sent', 'quiet'],
  'invitation.accepted': ['Invitation to an organization accepted', 'good'],
  'invitation.revoked': ['Invitation to an organization revoked', 'quiet'],
} as const;
