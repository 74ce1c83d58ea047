import { changeOf, refusalOf } from './security-event.js';

/** The security events of the token endpoint; part of the list of all. */
export const tokenSecurityEvents = {
  'authorization_code.reused': {
    class: 'finding',
    severity: 'critical',
    outcome: 'denied',
    recorded: 'transaction',
    actor: 'the client',
    target: 'user',
    description: 'A code came again: it may be stolen. What its first use gave was revoked (RFC 6749 4.1.2).',
  },
  'refresh_token.reused': {
    class: 'finding',
    severity: 'critical',
    outcome: 'denied',
    recorded: 'transaction',
    actor: 'the client',
    target: 'user',
    description: 'A rotated refresh token came again: it may be stolen. All tokens of the sign-in were revoked (RFC 9700 4.14.2).',
  },
  'token.impersonated': {
    ...changeOf('access_granted', 'info', 'the client', 'user'),
    description:
      'A client got a token in the name of a person, which does not say who acts (RFC 8693); see `audience`, `scope` and `subject_client`.',
  },
  'assertion.issued': {
    ...changeOf('access_granted', 'info', 'the client', 'user'),
    description:
      'A client got an identity assertion of a person for a server outside (ID-JAG); see `external_server_id`, `audience`, `resource`, `scope` and `authorization_details`.',
  },
  'assertion.redeemed': {
    ...changeOf('access_granted', 'info', 'the client', 'user'),
    description:
      'A client got a token in the name of a person for an identity assertion of a connection’s provider (ID-JAG); see `connection_id`, `audience`, `scope` and `authorization_details`.',
  },
  'approval.decided': {
    ...changeOf('access_granted', 'info', 'the user', 'client'),
    description: 'Somebody approved or refused what a client had asked them elsewhere (CIBA); see `decision` and `muted`.',
  },
  'provider_token.handed_out': {
    ...changeOf('access_granted', 'info', 'the client', 'user'),
    description: 'A client got a person’s access token at the provider of a connection; see `connection_id`.',
  },
  'assertion.refused': {
    ...refusalOf('access_granted', 'warning', 'denied', 'the client', 'connection'),
    description:
      'An identity assertion was refused: one that was brought, of a connection’s provider (without a target: of no connection’s), or one that was asked for, with the external server as its target; `reason` says by which kind of rule.',
  },
  'signal.received': {
    ...changeOf('access_withdrawn', 'info', 'the service', 'connection'),
    description: 'A connection’s provider said that sessions or an account there ended: `signal`; `sessions` of them ended here.',
  },
  'signal.refused': {
    ...refusalOf('access_withdrawn', 'warning', 'denied', 'nobody', 'connection'),
    description: 'A signal of a connection’s provider was refused; `reason` is the kind of rule.',
  },
  'assertion.replayed': {
    class: 'finding',
    severity: 'critical',
    outcome: 'denied',
    recorded: 'transaction',
    actor: 'the client',
    target: 'connection',
    description: 'An identity assertion came again: it may be stolen. It gave nothing more.',
  },
} as const;
