/** The security events of the token endpoint; part of the list of all. */
export const tokenSecurityEvents = {
  'authorization_code.reused': {
    class: 'finding',
    severity: 'critical',
    outcome: 'denied',
    kept: 'transaction',
    actor: 'the client',
    target: 'user',
    description:
      'A code was presented a second time: somebody may have got hold of it. All that its first use gave was revoked (RFC 6749 4.1.2).',
  },
  'refresh_token.reused': {
    class: 'finding',
    severity: 'critical',
    outcome: 'denied',
    kept: 'transaction',
    actor: 'the client',
    target: 'user',
    description:
      'A rotated refresh token was presented again: one of two holders is a thief. All tokens of the sign-in were revoked (RFC 9700 4.14.2).',
  },
  'token.impersonated': {
    class: 'access_granted',
    severity: 'info',
    outcome: 'success',
    kept: 'transaction',
    actor: 'the client',
    target: 'user',
    description:
      'A client got a token in the name of a person by token exchange, which does not say who acts (RFC 8693); `audience`, `scope` and `subject_client` tell what for and whose token it brought.',
  },
} as const;
