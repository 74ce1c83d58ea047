/** What issuers outside cause, or are told, in words; part of all sentences. */
export const tokenSentences = {
  'assertion.issued': ['Identity assertion for a server outside issued', 'quiet'],
  'assertion.redeemed': ['Identity assertion redeemed', 'quiet'],
  'signal.received': ['A provider ended sessions', 'quiet'],
} as const;
