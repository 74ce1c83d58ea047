import { languages, languageTags } from '../../../lib/languages/languages.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Choice } from '../page-parts.js';
import type { FieldSpec, ViewContext } from '../records/presentation.js';
import { relatedId, listOf, may, recordOf } from '../records/objects.js';
import { inWords, words } from '../values.js';
import { signingAlgorithms, type SigningAlgorithm } from '../../../lib/signing-algorithm.js';
import { clientRegistrationPolicies, dpopNonceRules, environmentKinds, metadataDocumentPolicies } from '../../../db/tables/environments.js';
import { breachedPasswordRules, breachedSignInRules } from '../../../lib/breach-rules.js';
import { named, own } from '../../../lib/named.js';
import { catalogue, eventGroups, eventTypes, groupOfEvent, isByNameOnly } from '../../../domain/events/catalogue.js';
import { terms } from '../words.js';

const most = 100;

/** The records of a collection as choices, the first hundred by name. Empty when the actor may not read them. */
async function choicesFrom(
  view: ViewContext,
  path: string,
  label: string,
  sort: string,
  hint?: string,
  fits: (record: ResourceObject) => boolean = () => true,
): Promise<Choice[]> {
  if (!may(view.req.call, path, 'read')) return [];
  const { records } = await listOf(view.req.call, path, { sort, size: most });
  return records.filter(fits).map((record) => ({
    value: record.id,
    label: words(record.attributes[label] ?? record.id),
    hint: hint === undefined ? null : ((record.attributes[hint] as string | null) ?? null),
  }));
}

/** The choices with what a record is linked to already, which stays unless somebody takes the tick away. */
export function withHeld(choices: readonly Choice[], held: readonly ResourceObject[]): Choice[] {
  const offered = new Set(choices.map(({ value }) => value));
  const others = held.filter(({ id }) => !offered.has(id));
  return [...choices, ...others.map(({ id, attributes: a }) => ({ value: id, label: words(a['display_name'] ?? a['name'] ?? id) }))];
}

const ofKind = (kind: string) => (record: ResourceObject) => record.attributes['kind'] === kind;
export const roleChoices = (view: ViewContext) => choicesFrom(view, 'roles', 'name', 'name', 'description', ofKind('environment'));
export const anyRoleChoices = (view: ViewContext) => choicesFrom(view, 'roles', 'name', 'name', 'description');
export const organizationRoleChoices = (view: ViewContext) =>
  choicesFrom(view, 'roles', 'name', 'name', 'description', ofKind('organization'));
export const organizationChoices = (view: ViewContext) => choicesFrom(view, 'organizations', 'display_name', 'display_name');

/** The person whom the address names, as the page of a user does; else the first hundred by their addresses. */
export async function userChoices(view: ViewContext): Promise<Choice[]> {
  const named = new URL(view.req.originalUrl, 'http://own.invalid').searchParams.get('user') ?? view.req.form?.get('user');
  if (!named || !may(view.req.call, 'users', 'read')) return choicesFrom(view, 'users', 'email', 'email');
  const { record } = await recordOf(view.req.call, 'users', named);
  return [{ value: record.id, label: words(record.attributes['email']) }];
}
export const apiIdentifierChoices = async (view: ViewContext): Promise<Choice[]> => {
  if (!may(view.req.call, 'api_resources', 'read')) return [];
  const { records } = await listOf(view.req.call, 'api_resources', { sort: 'name', size: most });
  return records.map(({ attributes: a }) => ({ value: words(a['identifier']), label: words(a['name']), hint: words(a['identifier']) }));
};
export const apiResourceChoices = (view: ViewContext) => choicesFrom(view, 'api_resources', 'name', 'name');
export const connectionChoices = (view: ViewContext) => choicesFrom(view, 'connections', 'display_name', 'name');
export const trustedIssuerChoices = (view: ViewContext) => choicesFrom(view, 'trusted_issuers', 'name', 'name', 'issuer');
export const externalServerChoices = (view: ViewContext) => choicesFrom(view, 'external_servers', 'name', 'name', 'issuer');
export const organizationGroupChoices = (view: ViewContext) => choicesFrom(view, 'organization_groups', 'display_name', 'display_name');
export const clientChoices = (view: ViewContext) => choicesFrom(view, 'clients', 'name', 'name');
export const workloadClientChoices = (view: ViewContext) => choicesFrom(view, 'clients', 'name', 'name', undefined, takesWorkloads);

/** Whether workloads can be the client: by a token of a platform in place of a signature of its own (RFC 7523), which its profile may rule out. */
export const takesWorkloads = ({ attributes }: ResourceObject): boolean =>
  attributes['token_endpoint_auth_method'] === 'private_key_jwt' &&
  attributes['profile'] === null &&
  attributes['origin'] === 'administrator';

/** Permissions, grouped by their API resource. */
export async function permissionChoices(view: ViewContext): Promise<Choice[]> {
  const { call } = view.req;
  if (!may(call, 'permissions', 'read')) return [];
  const [first, resources] = await Promise.all([
    listOf(call, 'permissions', { sort: 'name', size: most }),
    choicesFrom(view, 'api_resources', 'name', 'name'),
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

export const environmentKindChoices = async (): Promise<Choice[]> => environmentKinds.map((value) => ({ value, label: inWords(value) }));

export const languageChoices = async (): Promise<Choice[]> => languageTags.map((value) => ({ value, label: languages[value].name }));

const breachedPasswordWords = { refuse: 'Refuse breached passwords', off: terms.off } as const;

export const breachedPasswordChoices = async (): Promise<Choice[]> =>
  breachedPasswordRules.map((value) => ({ value, label: breachedPasswordWords[value] }));

const breachedSignInWords = { notify: 'Notify the person by email', require_reset: 'Require a password reset', off: terms.off } as const;

export const breachedSignInChoices = async (): Promise<Choice[]> =>
  breachedSignInRules.map((value) => ({ value, label: breachedSignInWords[value] }));

const registrationWords: Readonly<Record<(typeof clientRegistrationPolicies)[number], string>> = {
  off: 'Nobody',
  initial_access_token: 'With an initial access token',
  open: terms.open,
};
export const clientRegistrationChoices = async (): Promise<Choice[]> =>
  clientRegistrationPolicies.map((value) => ({ value, label: registrationWords[value] }));

const metadataDocumentWords: Readonly<Record<(typeof metadataDocumentPolicies)[number], string>> = {
  off: 'Nobody',
  allow_list: 'Trusted hosts only',
  open: terms.open,
};
export const metadataDocumentChoices = async (): Promise<Choice[]> =>
  metadataDocumentPolicies.map((value) => ({ value, label: metadataDocumentWords[value] }));

const dpopNonceWords = { optional: terms.optional, required: terms.required } as const;

export const dpopNonceChoices = async (): Promise<Choice[]> => dpopNonceRules.map((value) => ({ value, label: dpopNonceWords[value] }));

export const eventGroupLabel = (group: string): string => (group === 'login' ? 'Sign-ins' : inWords(group).replace(/s?$/, 's'));

/** What `*` is called. */
export const allEvents = 'All events';

/** Event types, grouped by what they are about; `*` first. */
export async function eventChoices(): Promise<Choice[]> {
  const everything: Choice = {
    value: '*',
    label: allEvents,
    hint: 'All event types, also future ones, except those marked “not in All events”.',
    group: null,
  };
  const byGroup = eventGroups.flatMap((group) => eventTypes.filter((name) => groupOfEvent(name) === group));
  return [
    everything,
    ...byGroup.map((name) => ({
      value: name,
      label: name,
      hint: isByNameOnly(name) ? `${catalogue[name].description} Not in ${allEvents}.` : catalogue[name].description,
      group: eventGroupLabel(groupOfEvent(name)),
    })),
  ];
}

export const signingAlgorithmChoices = async (view: ViewContext): Promise<Choice[]> =>
  view.req.ctx.environment.signing_algorithms.map((value) => ({ value, label: value, hint: null }));

const algorithmHints: Record<SigningAlgorithm, string> = {
  RS256: 'Supported by every library; always on.',
  ES256: 'Short signatures at a fraction of the processor time; FAPI 2.0.',
  PS256: 'RSA as FAPI 2.0 wants it.',
  EdDSA: 'Ed25519: the fastest. Not supported by older libraries.',
};

export const allSigningAlgorithmChoices = async (): Promise<Choice[]> =>
  signingAlgorithms.map((value) => ({ value, label: value, hint: algorithmHints[value] }));

const acrWords: Record<string, { readonly label: string; readonly hint: string }> = named({
  '1': { label: 'Single-factor', hint: '' },
  '2': { label: 'Multi-factor', hint: 'A password and a code, or a passkey.' },
  phr: { label: 'Phishing-resistant (passkey)', hint: 'Resists phishing.' },
});

export const acrLabel = (acr: unknown): string => own(acrWords, String(acr))?.label ?? terms.none;

export const acrChoices = (values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, label: acrLabel(value), hint: own(acrWords, value)?.hint ?? null }));

/** Whether a record is in use, as a field. @param disabled what happens while it isn't */
export const statusField = (disabled: string, more: Partial<FieldSpec> = { on: 'update' }): FieldSpec => ({
  name: 'status',
  label: terms.status,
  kind: 'radios',
  choices: async () => [
    { value: 'enabled', label: terms.enabled },
    { value: 'disabled', label: terms.disabled, hint: disabled },
  ],
  ...more,
});
