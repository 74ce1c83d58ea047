import { userChoices } from '../../parts/forms/choices.js';
import type { FieldSpec } from '../../parts/records/presentation.js';
import { terms } from '../../parts/words.js';

/** Whether a client acts by itself, and who answers for it; in a section of its form. */
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
];
