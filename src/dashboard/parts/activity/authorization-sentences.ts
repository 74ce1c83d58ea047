/** What becomes of authorizations, in words; part of all sentences. */
export const authorizationSentences = {
  'authorization.blocked': ['Client blocked', 'warning'],
  'authorization.unblocked': ['Client unblocked', 'quiet'],
  'authorization.expired': ['Unused access of a client ended', 'quiet'],
} as const;
