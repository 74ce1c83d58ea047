import { requiredAcrs } from '../../../db/tables/environments.js';
import { acrChoices } from '../../parts/forms/choices.js';
import type { FieldSpec } from '../../parts/records/presentation.js';
import { terms } from '../../parts/words.js';

/** What people have to prove for a client or an API resource. @param what they get for it, in words */
export const requirementFields = (what: string, section?: string): FieldSpec[] =>
  [
    {
      name: 'required_acr',
      label: terms.required_authentication_context,
      hint: `What ${what} takes, however the person signed in: what is missing is asked for. Not set: nothing more.`,
      choices: async () => acrChoices(requiredAcrs),
    },
    {
      name: 'max_authentication_age',
      label: terms.maximum_authentication_age,
      hint: 'Leave empty for the lifetime of the session.',
      attributes: { maxlength: 8 },
    },
  ].map((field) => (section === undefined ? field : { ...field, section }));
