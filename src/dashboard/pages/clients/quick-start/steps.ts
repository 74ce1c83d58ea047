import { isDeepStrictEqual } from 'node:util';
import type { Field, Part } from '../../../parts/page-parts.js';
import { recordPath, type ViewContext } from '../../../parts/records/presentation.js';
import { listOf, may } from '../../../parts/records/objects.js';
import type { ResourceObject } from '../../../../management/documents.js';
import { words } from '../../../parts/values.js';
import { clientGuides, type ClientGuide } from './guides.js';
import { terms } from '../../../parts/words.js';

export const quickStartPath = (id: string) => `${recordPath('clients', id)}/quick_start`;

const mostApis = 100;

const chosenBy = (guides: readonly ClientGuide[], name: string | null): ClientGuide | undefined =>
  guides.find((guide) => guide.name === name) ?? guides.find((guide) => guide.name === 'openid-client') ?? guides[0];

export const guidesFor = (record: ResourceObject) => clientGuides(words(record.attributes['application_type']));

/** What the client lacks of what the guide asks for; its own mappings of other claims stay, and its other grant types. */
export function lackingOf(record: ResourceObject, guide: ClientGuide): Record<string, unknown> {
  const { claim_mappings, grant_types, ...plain } = guide.settings as { claim_mappings?: { claim: string }[]; grant_types?: string[] };
  const lacking = Object.entries(plain).filter(([name, value]) => !isDeepStrictEqual(record.attributes[name], value));
  const own = (record.attributes['claim_mappings'] ?? []) as { claim: string }[];
  const missing = (claim_mappings ?? []).filter(({ claim }) => own.every((one) => one.claim !== claim));
  const allowed = record.attributes['grant_types'] as string[];
  const added = (grant_types ?? []).filter((grant) => !allowed.includes(grant));
  return {
    ...Object.fromEntries(lacking),
    ...(missing.length > 0 ? { claim_mappings: [...own, ...missing] } : {}),
    ...(added.length > 0 ? { grant_types: [...allowed, ...added] } : {}),
  };
}

/** What a setting is for, in the words of the page. */
const explained: Readonly<Record<string, (title: string) => string>> = {
  id_token_claims: (title) => `The ID token will hold name, email address and what else the scopes release: ${title} looks for them there.`,
  claim_mappings: (title) => `The names of a person’s roles will be in the claim groups, where ${title} looks for them.`,
  grant_types: (title) => `It may use the grant types of the guide as well: by refresh_token ${title} stays signed in.`,
};

/** The API resources whose tokens have another `typ` than the guide's. */
async function unfitApis({ req }: ViewContext, guide: ClientGuide): Promise<readonly ResourceObject[]> {
  if (guide.token_typ === null || !may(req.call, 'api_resources', 'write') || !may(req.call, 'api_resources', 'read')) return [];
  const { records } = await listOf(req.call, 'api_resources', { sort: 'name', size: mostApis });
  return records.filter(({ attributes: a }) => a['is_system'] !== true && a['token_typ'] !== guide.token_typ);
}

const apiField = (apis: readonly ResourceObject[], guide: ClientGuide): Field => ({
  kind: 'select',
  name: 'api_resource',
  label: 'API resource to protect',
  hint: `They will say typ ${words(guide.token_typ)} in their header, as the decoder of ${guide.title} wants by default.`,
  optional: true,
  value: '',
  chosen: [],
  choices: [{ value: '', label: terms.none }, ...apis.map(({ id, attributes }) => ({ value: id, label: words(attributes['name']) }))],
  error: null,
  attributes: {},
});

/** One button that makes the settings that are missing; nothing when none is. */
async function settingsPart(view: ViewContext, record: ResourceObject, guide: ClientGuide): Promise<readonly Part[]> {
  const lacking = lackingOf(record, guide);
  const apis = await unfitApis(view, guide);
  const text = Object.keys(lacking).map((name) => explained[name]?.(guide.title) ?? name);
  if (text.length === 0 && apis.length === 0) return [];
  if (!may(view.req.call, 'clients', 'write'))
    return [
      { kind: 'notice', tone: 'info', text: `${guide.title} needs settings that somebody with clients:write makes. ${text.join(' ')}` },
    ];
  const form: Part = {
    kind: 'form',
    id: 'quick-start-settings',
    title: `Settings for ${guide.title}`,
    text,
    action: quickStartPath(record.id),
    hidden: { guide: guide.name },
    sections: apis.length > 0 ? [{ title: null, text: null, fields: [apiField(apis, guide)] }] : [],
    button: { label: 'Apply these settings', variant: 'primary' },
    cancel: null,
  };
  return [form];
}

/** The guide's texts with this installation's addresses and this client's own values. */
const filled = (code: string, issuer: string, client_id: string): string =>
  code
    .replaceAll(/https:\/\/id\.example\.com(?![\w.:-])/g, () => issuer)
    .replaceAll('<client id>', () => client_id)
    .replaceAll(
      /\bCLIENT_ID=\.\.\./g,
      () => `CLIENT_ID=${/^[\w.-]+$/.test(client_id) ? client_id : `'${client_id.replaceAll("'", "'\\''")}'`}`,
    );

/** The choice of a guide, and what it says with this client's own values. */
export async function guideParts(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const guides = guidesFor(record);
  const guide = chosenBy(guides, new URL(view.req.originalUrl, 'http://own.invalid').searchParams.get('guide'));
  if (!guide) return [];
  const { issuer } = view.req.ctx.environment;
  const choices = guides.map(({ name, title }) => ({ value: name, label: title }));
  const field = { name: 'guide', label: 'Framework or library', value: guide.name, choices, kind: 'select' as const };
  const isRegistered = guide.redirect_uris.every((uri) => (record.attributes['redirect_uris'] as string[]).includes(uri));
  const example: Part = {
    kind: 'notice',
    tone: 'info',
    text: `The code below uses the redirect URI ${guide.redirect_uris.join(' ')}, which this client doesn’t have. Change one of them.`,
  };
  return [
    { kind: 'filters', action: quickStartPath(record.id), fields: [field], hidden: {}, clear: null, button: 'Show' },
    ...(await settingsPart(view, record, guide)),
    ...(isRegistered ? [] : [example]),
    ...guide.snippets.map(({ title, code }, index): Part => ({
      kind: 'code',
      id: `snippet-${index}`,
      title,
      text: null,
      code: filled(code, issuer, record.id),
    })),
    { kind: 'buttons', links: [{ label: 'Read the whole guide', path: `/docs/guides/${guide.name}`, variant: 'quiet' }], posts: [] },
  ];
}
