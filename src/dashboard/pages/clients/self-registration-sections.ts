import { clientRegistrationChoices, metadataDocumentChoices } from '../../parts/forms/choices.js';
import { formSection } from '../../parts/records/presentation.js';
import { terms } from '../../parts/words.js';

export const selfRegistrationSections = [
  formSection(
    {
      title: 'Client ID metadata documents',
      text: 'Lets applications connect without registration: their client_id is the URL of a document that describes them, as with MCP clients.',
    },
    [
      { name: 'client_id_metadata_documents', label: 'Metadata document policy', kind: 'radios', choices: metadataDocumentChoices },
      {
        name: 'client_id_metadata_hosts',
        label: 'Trusted hosts',
        hint: 'One per line: client.example, or *.example.com for all subdomains. Their applications are verified, so people aren’t warned.',
        attributes: { spellcheck: false, autocapitalize: 'none' },
      },
    ],
  ),
  formSection(
    {
      title: terms.dynamic_client_registration,
      text: 'Lets applications register themselves at /oauth/register (RFC 7591). Leave off unless you need it.',
    },
    [
      { name: 'client_registration_policy', label: 'Registration policy', kind: 'radios', choices: clientRegistrationChoices },
      { name: 'self_registered_client_limit', label: 'Maximum self-registered clients' },
      {
        name: 'unused_client_lifetime',
        label: 'Unused client lifetime',
        hint: 'Unverified clients that nobody uses are removed after this time. Leave empty to keep them.',
      },
    ],
  ),
];
