import { clientRegistrationChoices, metadataDocumentChoices } from './choices.js';
import type { FieldSpec } from './presentation.js';

type Section = { readonly name: string; readonly title: string; readonly text: string; readonly fields: readonly FieldSpec[] };

/** The settings about clients that come by themselves. */
export const arrivalSections: readonly Section[] = [
  {
    name: 'metadata_documents',
    title: 'Client ID metadata documents',
    text: 'Lets applications come without being registered: their client_id is the address of a document that describes them, as with MCP clients.',
    fields: [
      { name: 'client_id_metadata_documents', label: 'Who may come so', kind: 'radios', choices: metadataDocumentChoices },
      {
        name: 'client_id_metadata_hosts',
        label: 'Hosts that you trust',
        hint: 'One a line: client.example, or *.example.com for all below it. Their applications are verified: people are not warned.',
        attributes: { spellcheck: false, autocapitalize: 'none' },
      },
    ],
  },
  {
    name: 'registration_of_clients',
    title: 'Dynamic client registration',
    text: 'Lets applications register themselves at /oauth/register (RFC 7591). Off unless you need it.',
    fields: [
      { name: 'client_registration_policy', label: 'Who may register clients', kind: 'radios', choices: clientRegistrationChoices },
      { name: 'self_registered_client_limit', label: 'So many at most' },
      {
        name: 'unused_client_lifetime',
        label: 'Remove unverified clients that nobody uses after',
        hint: 'Seconds; empty for never. 2592000 is thirty days.',
      },
    ],
  },
];
