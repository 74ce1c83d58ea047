import { clientRegistrationChoices, metadataDocumentChoices } from './choices.js';
import type { FieldSpec } from './presentation.js';
import { hints, sentences, terms } from './words.js';

type Section = { readonly name: string; readonly title: string; readonly text: string; readonly fields: readonly FieldSpec[] };

/** The settings about clients that come by themselves. */
export const arrivalSections: readonly Section[] = [
  {
    name: 'metadata_documents',
    title: terms.client_id_metadata_documents,
    text: sentences.lets_applications_come_without_being,
    fields: [
      { name: 'client_id_metadata_documents', label: terms.metadata_document_policy, kind: 'radios', choices: metadataDocumentChoices },
      {
        name: 'client_id_metadata_hosts',
        label: terms.trusted_hosts,
        hint: hints.client_id_metadata_hosts,
        attributes: { spellcheck: false, autocapitalize: 'none' },
      },
    ],
  },
  {
    name: 'registration_of_clients',
    title: terms.dynamic_client_registration,
    text: sentences.lets_applications_register_themselves_at,
    fields: [
      { name: 'client_registration_policy', label: terms.registration_policy, kind: 'radios', choices: clientRegistrationChoices },
      { name: 'self_registered_client_limit', label: terms.maximum_self_registered_clients },
      {
        name: 'unused_client_lifetime',
        label: terms.unused_client_lifetime,
        hint: hints.unused_client_lifetime,
      },
    ],
  },
];
