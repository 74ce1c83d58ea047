import { userChoices } from '../../parts/forms/choices.js';
import type { FieldSpec } from '../../parts/records/presentation.js';
import { terms } from '../../parts/words.js';

export const detailTypesLabel = 'Authorization detail types';

/** Whether a client acts by itself, who answers for it, and for which details it can ask; in a section of its form. */
export const agentFields = (section: string): readonly FieldSpec[] => [
  { name: 'is_agent', label: terms.ai_agent, hint: 'Acts on its own. Consent pages, lists and emails say so.', section },
  {
    name: 'owner',
    label: terms.owner,
    relationship: 'one',
    optional: true,
    hint: 'Who answers for it. The doctor warns of agents without an owner.',
    section,
    choices: userChoices,
  },
  {
    name: 'authorization_details_types',
    label: detailTypesLabel,
    hint: 'Names of the types that it can ask for (RFC 9396), one per line.',
    section,
  },
  {
    name: 'backchannel_users',
    label: 'Who it may ask elsewhere',
    hint: 'With CIBA: people who have allowed it something, or anyone. It doesn’t learn whether an address has an account.',
    section,
    choices: async () => [
      { value: 'known', label: 'People who know it' },
      { value: 'any', label: 'Anyone' },
    ],
  },
  {
    name: 'backchannel_token_delivery_mode',
    label: 'How it hears of answers',
    section,
    choices: async () => [
      { value: 'poll', label: 'It asks (poll)' },
      { value: 'ping', label: 'It’s told (ping)' },
    ],
  },
  {
    name: 'backchannel_client_notification_endpoint',
    label: 'Where it’s told',
    kind: 'url',
    section,
    hint: 'Only for ping: its notification endpoint.',
  },
];
