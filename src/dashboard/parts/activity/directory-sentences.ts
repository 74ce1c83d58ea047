/** What directories do, in words; part of all sentences. */
export const directorySentences = {
  'directory.user_provisioned': ['Let in by the organization’s directory', 'good'],
  'directory.user_linked': ['Account taken over by the organization’s directory', 'quiet'],
  'directory.user_deprovisioned': ['Shut out by the organization’s directory', 'warning'],
  'directory.group_changed': ['Group changed by the organization’s directory', 'quiet'],
  'directory.authentication_failed': ['Token of a directory refused', 'warning', 'Give its provider the present token.'],
} as const;
