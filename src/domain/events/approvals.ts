import { z } from 'zod';
import { shapes } from './shapes.js';

const { nullable, text, time, uuid } = shapes;
const approval = { id: uuid, user_id: uuid, client_id: text };

/** What clients ask people elsewhere (CIBA); part of all that come by name. */
export const approvalEvents = {
  'approval.requested': {
    description: 'A client asks a user to approve something elsewhere (CIBA).',
    details:
      '`approval_url` is where the user answers, for push messages of your own; `details` are the authorization details (RFC 9396) as sentences in their language, as the page there says them.',
    data: z.object({
      ...approval,
      binding_message: nullable,
      scopes: z.array(text),
      details: z.array(text),
      approval_url: text,
      expires_at: time,
    }),
  },
  'approval.decided': {
    description: 'A user approved or refused what a client asked for.',
    details: 'With `muted` the client may not ask again for a day. What expires unanswered has no event.',
    data: z.object({ ...approval, decision: z.enum(['approved', 'refused']), muted: z.boolean(), decided_at: time }),
  },
} as const;

const sample = { id: '0195e8a2-6f00-7000-8000-000000000151', user_id: '0195e8a2-6f00-7000-8000-0000000000a1', client_id: 'acme-assistant' };

export const approvalSamples = {
  'approval.requested': {
    ...sample,
    binding_message: 'Pay 49.90 EUR to Acme Travel',
    scopes: ['openid', 'payments:create'],
    details: ['Pay \u2068€49.90\u2069 to \u2068Acme Travel\u2069'],
    approval_url: `https://id.example.com/approvals/${sample.id}`,
    expires_at: '2026-03-14T09:36:53.589Z',
  },
  'approval.decided': { ...sample, decision: 'approved' as const, muted: false, decided_at: '2026-03-14T09:27:30.120Z' },
};
