import { userChoices } from '../../parts/forms/choices.js';
import type { FieldSpec } from '../../parts/records/presentation.js';
import { terms } from '../../parts/words.js';

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
    label: terms.authorization_detail_types,
    hint: 'Names of the types that it can ask for (RFC 9396), one per line.',
    section,
  },
];
