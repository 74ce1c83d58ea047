import { requiredAcrs } from '../db/tables/environments.js';
import { acrChoices } from './choices.js';
import type { FieldSpec } from './presentation.js';

/** What people have to prove for a client or an API resource. @param what they get for it, in words */
export const demandFields = (what: string, section?: string): FieldSpec[] =>
  [
    {
      name: 'required_acr',
      label: 'Strength of the sign-in',
      hint: `What ${what} takes, however the person signed in: what is missing is asked for. Not set: nothing more.`,
      choices: async () => acrChoices(requiredAcrs),
    },
    {
      name: 'max_authentication_age',
      label: 'How old its proofs may be',
      hint: 'Seconds; empty for as old as the session.',
      attributes: { maxlength: 8 },
    },
  ].map((field) => (section === undefined ? field : { ...field, section }));
