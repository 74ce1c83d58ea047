import { requiredAcrs } from '../db/tables/environments.js';
import { acrChoices } from './choices.js';
import type { FieldSpec } from './presentation.js';
import { fill, hints, terms } from './words.js';

/** What people have to prove for a client or an API resource. @param what they get for it, in words */
export const demandFields = (what: string, section?: string): FieldSpec[] =>
  [
    {
      name: 'required_acr',
      label: terms.required_authentication_context,
      hint: fill(hints.required_acr, { what }),
      choices: async () => acrChoices(requiredAcrs),
    },
    {
      name: 'max_authentication_age',
      label: terms.maximum_authentication_age,
      hint: hints.max_authentication_age,
      attributes: { maxlength: 8 },
    },
  ].map((field) => (section === undefined ? field : { ...field, section }));
