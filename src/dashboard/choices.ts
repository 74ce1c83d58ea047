import { languages, languageTags } from '../lib/languages/languages.js';
import type { ResourceObject } from '../management/documents.js';
import type { Choice } from './page-parts.js';
import type { ViewContext } from './presentation.js';
import { relatedId, listOf, may } from './resource-objects.js';
import { inWords, words } from './values.js';
import { signingAlgorithms, type SigningAlgorithm } from '../lib/signing-algorithm.js';
import {
  breachedPasswordRules,
  clientRegistrationPolicies,
  dpopNonceRules,
  environmentKinds,
  metadataDocumentPolicies,
} from '../db/tables/environments.js';
import { named, own } from '../lib/named.js';
import { eventTypes, catalogue } from '../domain/events/catalogue.js';
import { hints, sentences, terms } from './words.js';

const most = 100;

/** The records of a collection as choices, the first hundred by name. Empty when the actor may not read them. */
async function choicesFrom(
  look: ViewContext,
  path: string,
  label: string,
  sort: string,
  hint?: string,
  fits: (record: ResourceObject) => boolean = () => true,
): Promise<Choice[]> {
  if (!may(look.req.call, path, 'read')) return [];
  const { records } = await listOf(look.req.call, path, { sort, size: most });
  return records.filter(fits).map((record) => ({
    value: record.id,
    label: words(record.attributes[label] ?? record.id),
    hint: hint === undefined ? null : ((record.attributes[hint] as string | null) ?? null),
  }));
}

export const roleChoices = (look: ViewContext) => choicesFrom(look, 'roles', 'name', 'name', 'description');
/** API resources by the identifier that token requests name. */
export const apiIdentifierChoices = async (look: ViewContext): Promise<Choice[]> => {
  if (!may(look.req.call, 'api_resources', 'read')) return [];
  const { records } = await listOf(look.req.call, 'api_resources', { sort: 'name', size: most });
  return records.map(({ attributes: a }) => ({ value: words(a['identifier']), label: words(a['name']), hint: words(a['identifier']) }));
};
export const apiResourceChoices = (look: ViewContext) => choicesFrom(look, 'api_resources', 'name', 'name');
export const connectionChoices = (look: ViewContext) => choicesFrom(look, 'connections', 'display_name', 'name');
export const trustedIssuerChoices = (look: ViewContext) => choicesFrom(look, 'trusted_issuers', 'name', 'name', 'issuer');
export const clientChoices = (look: ViewContext) => choicesFrom(look, 'clients', 'name', 'name');
/** Clients that workloads can be. */
export const workloadClientChoices = (look: ViewContext) => choicesFrom(look, 'clients', 'name', 'name', undefined, takesWorkloads);

/** Whether workloads can be the client: by a token of a platform in place of a signature of its own (RFC 7523), which its profile may rule out. */
export const takesWorkloads = ({ attributes }: ResourceObject): boolean =>
  attributes['token_endpoint_auth_method'] === 'private_key_jwt' &&
  attributes['profile'] === null &&
  attributes['origin'] === 'administrator';

/** Permissions, grouped by their API resource. */
export async function permissionChoices(look: ViewContext): Promise<Choice[]> {
  const { call } = look.req;
  if (!may(call, 'permissions', 'read')) return [];
  const [first, resources] = await Promise.all([
    listOf(call, 'permissions', { sort: 'name', size: most }),
    choicesFrom(look, 'api_resources', 'name', 'name'),
  ]);
  const nameOf = new Map(resources.map(({ value, label }) => [value, label]));
  const choices = first.records.map((record) => ({
    value: record.id,
    label: words(record.attributes['name']),
    hint: (record.attributes['description'] as string | null) ?? null,
    group: nameOf.get(relatedId(record, 'api_resource') ?? '') ?? null,
  }));
  return choices.sort((one, other) => (one.group ?? '').localeCompare(other.group ?? ''));
}

/** What an environment can be for. */
export const environmentKindChoices = async (): Promise<Choice[]> => environmentKinds.map((value) => ({ value, label: inWords(value) }));

/** The languages of pages, each by the name that its speakers call it. */
export const languageChoices = async (): Promise<Choice[]> => languageTags.map((value) => ({ value, label: languages[value].name }));

const breachedPasswordWords = { refuse: terms.refuse_breached_passwords, off: terms.off } as const;

/** What becomes of passwords that are known from data breaches. */
export const breachedPasswordChoices = async (): Promise<Choice[]> =>
  breachedPasswordRules.map((value) => ({ value, label: breachedPasswordWords[value] }));

const registrationWords: Readonly<Record<(typeof clientRegistrationPolicies)[number], string>> = {
  off: terms.nobody,
  initial_access_token: terms.with_an_initial_access_token,
  open: terms.open,
};
export const clientRegistrationChoices = async (): Promise<Choice[]> =>
  clientRegistrationPolicies.map((value) => ({ value, label: registrationWords[value] }));

const metadataDocumentWords: Readonly<Record<(typeof metadataDocumentPolicies)[number], string>> = {
  off: terms.nobody,
  allow_list: terms.trusted_hosts_only,
  open: terms.open,
};
export const metadataDocumentChoices = async (): Promise<Choice[]> =>
  metadataDocumentPolicies.map((value) => ({ value, label: metadataDocumentWords[value] }));

const dpopNonceWords = { optional: terms.optional, required: terms.required } as const;

/** Whether DPoP proofs have to bear a nonce. */
export const dpopNonceChoices = async (): Promise<Choice[]> => dpopNonceRules.map((value) => ({ value, label: dpopNonceWords[value] }));

/** What `*` is called. */
export const allEvents = terms.all_events;

/** Event types, grouped by what they are about; `*` first. */
export async function eventChoices(): Promise<Choice[]> {
  const everything: Choice = {
    value: '*',
    label: allEvents,
    hint: hints.all_events,
    group: null,
  };
  return [
    everything,
    ...eventTypes.map((name) => ({
      value: name,
      label: name,
      hint: catalogue[name].description,
      group: inWords(name.split('.')[0] ?? name),
    })),
  ];
}

/** What the environment can sign with. */
export const signingAlgorithmChoices = async (look: ViewContext): Promise<Choice[]> =>
  look.req.ctx.environment.signing_algorithms.map((value) => ({ value, label: value, hint: null }));

const algorithmHints: Record<SigningAlgorithm, string> = {
  RS256: sentences.every_library_knows_it_it,
  ES256: sentences.short_signatures_at_a_fraction,
  PS256: sentences.rsa_as_fapi_2_0,
  EdDSA: sentences.ed25519_the_quickest_older_libraries,
};

/** What an environment could sign with. */
export const allSigningAlgorithmChoices = async (): Promise<Choice[]> =>
  signingAlgorithms.map((value) => ({ value, label: value, hint: algorithmHints[value] }));

const acrWords: Record<string, { readonly label: string; readonly hint: string }> = named({
  '1': { label: terms.single_factor, hint: '' },
  '2': { label: terms.multi_factor, hint: hints.a_password_and_a_code },
  phr: { label: terms.phishing_resistant_passkey, hint: hints.resists_phishing },
});

/** A class of sign-ins (`acr`) in words. */
export const acrLabel = (acr: unknown): string => own(acrWords, String(acr))?.label ?? terms.none;

/** Classes that can be demanded. */
export const acrChoices = (values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, label: acrLabel(value), hint: own(acrWords, value)?.hint ?? null }));
