import { ApiError } from '../../errors.js';
import { deviceCodeGrantType, jwtBearerGrantType } from '../../lib/grant-types.js';
import { named } from '../../lib/named.js';
import { refusalRules, type PreviewRule } from '../../lib/refusal-rules.js';
import { token_preview } from '../../management/calls/token_preview.js';
import type { ResourceObject } from '../../management/documents.js';
import { runEndpoint } from '../../management/run-endpoint.js';
import { isForClientItself, previewedGrantTypes } from '../../oauth/preview/token-preview.js';
import { apiResourceChoices } from '../choices.js';
import type { Choice, FilterField, Part } from '../page-parts.js';
import { recordPath, type ViewContext } from '../presentation.js';
import { listOf, may, recordOf } from '../resource-objects.js';
import { code, durationWords, state, text, words } from '../values.js';
import { fill, sentences, terms } from '../words.js';

type Asked = {
  readonly grant_type: string;
  readonly user: string;
  readonly resource: string;
  readonly scope: string;
  readonly consent: string;
};

type Scope = { readonly name: string; readonly granted: boolean; readonly rule: PreviewRule; readonly detail: string };

type Previewed = {
  readonly access_token: { readonly format: 'jwt' | 'opaque'; readonly lifetime: number; readonly claims: unknown } | null;
  readonly id_token: unknown;
  readonly userinfo: unknown;
  readonly refresh_token: boolean;
  readonly scopes: readonly Scope[];
  readonly refusal: { readonly error: string; readonly rule: PreviewRule } | null;
};

const grantTypeLabels: Readonly<Record<string, string>> = named({
  authorization_code: terms.sign_in_code,
  refresh_token: terms.refresh_token,
  [deviceCodeGrantType]: terms.device_authorization,
  client_credentials: terms.client_credentials,
  [jwtBearerGrantType]: terms.jwt_bearer,
});

const previewable = (record: ResourceObject): string[] => {
  const own = record.attributes['grant_types'] as string[];
  return previewedGrantTypes.filter((one) => own.includes(one));
};

/** Whether there is anything of the client to preview. */
export const isPreviewable = (record: ResourceObject): boolean => previewable(record).length > 0;

const path = (record: ResourceObject) => `${recordPath('clients', record.id)}/token_preview`;

/** What is asked for; null before anything was. */
function askedOf({ req }: ViewContext, record: ResourceObject): { readonly asked: Asked; readonly isAsked: boolean } {
  const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
  const value = (name: string) => (query.get(name) ?? '').slice(0, 1000).trim();
  const [first = ''] = previewable(record);
  const grant_type = previewable(record).find((one) => one === value('grant_type')) ?? first;
  const scope = query.has('scope') ? value('scope') : isForClientItself(grant_type) ? '' : 'openid profile email';
  return {
    asked: { grant_type, user: value('user'), resource: value('resource'), scope, consent: value('consent') },
    isAsked: query.has('scope'),
  };
}

async function question(look: ViewContext, record: ResourceObject, asked: Asked): Promise<Part> {
  const types = previewable(record);
  const grantTypes: Choice[] = types.map((value) => ({ value, label: grantTypeLabels[value] ?? value }));
  const apis = may(look.req.call, 'api_resources', 'read') ? await apiResourceChoices(look) : [];
  const consents: Choice[] = [
    { value: '', label: terms.as_it_stands },
    { value: 'given', label: terms.as_if_given },
  ];
  const ofPeople: FilterField[] = [
    { name: 'user', label: terms.email_address_of_a_user, value: asked.user, choices: null, kind: 'search' },
    { name: 'consent', label: terms.consent, value: asked.consent, choices: consents, kind: 'select' },
  ];
  const fields: FilterField[] = [
    { name: 'grant_type', label: terms.grant_type, value: asked.grant_type, choices: grantTypes, kind: 'select' },
    ...(types.every(isForClientItself) ? [] : ofPeople),
    { name: 'resource', label: terms.api, value: asked.resource, choices: [{ value: '', label: terms.none }, ...apis], kind: 'select' },
    { name: 'scope', label: terms.scopes, value: asked.scope, choices: null, kind: 'search' },
  ];
  return { kind: 'filters', action: path(record), fields, hidden: {}, clear: null, button: terms.preview };
}

const notice = (tone: 'info' | 'warning' | 'bad', sentence: string): Part => ({ kind: 'notice', tone, text: sentence });

const block = (id: string, title: string, lead: string | null, claims: unknown): Part => ({
  kind: 'code',
  id: `claims-${id}`,
  title,
  text: lead,
  code: JSON.stringify(claims, null, 2),
});

function scopesPart(scopes: readonly Scope[]): Part {
  return {
    kind: 'table',
    id: 'scopes',
    caption: terms.scopes,
    heading: true,
    columns: [{ label: terms.scope }, { label: terms.in_the_token }, { label: terms.reason }, { label: terms.remedy }],
    rows: scopes.map(({ name, granted, rule, detail }) => ({
      path: null,
      cells: [
        code(name),
        granted ? state('good', terms.yes) : state('bad', terms.no),
        text(detail),
        text(granted ? '' : refusalRules[rule].fix),
      ],
    })),
    empty: { title: terms.no_scopes, text: sentences.none_was_asked_for_and, button: null },
    pager: null,
  };
}

function tokensParts({ access_token, id_token, userinfo, refresh_token }: Previewed, own: boolean): Part[] {
  if (!access_token) return [];
  const { format, lifetime } = access_token;
  const how = format === 'jwt' ? sentences.a_jwt_whoever_has_it : sentences.opaque_this_is_what_introspection;
  const lead = fill(sentences.how_it_lives_lifetime, { how, lifetime: durationWords(lifetime) });
  const none = (title: string): Part => ({ kind: 'text', title, paragraphs: [sentences.there_is_none_the_scope] });
  const refresh: Part = {
    kind: 'text',
    title: terms.refresh_token,
    paragraphs: [refresh_token ? sentences.one_comes_along : sentences.there_is_none_the_client],
  };
  if (own) return [block('access-token', terms.access_token, lead, access_token.claims)];
  return [
    block('access-token', terms.access_token, lead, access_token.claims),
    id_token ? block('id-token', terms.id_token, null, id_token) : none(terms.id_token),
    userinfo ? block('userinfo', terms.userinfo, null, userinfo) : none(terms.userinfo),
    refresh,
  ];
}

const resultParts = (previewed: Previewed, own: boolean): Part[] => [
  ...(previewed.refusal
    ? [
        notice(
          'bad',
          fill(terms.there_would_be_no_token, {
            error: previewed.refusal.error,
            found: refusalRules[previewed.refusal.rule].found,
            fix: refusalRules[previewed.refusal.rule].fix,
          }),
        ),
      ]
    : []),
  ...(previewed.refusal && previewed.scopes.length === 0 ? [] : [scopesPart(previewed.scopes)]),
  ...tokensParts(previewed, own),
];

/** The input of the call; null when there is no such user. */
async function inputOf(look: ViewContext, record: ResourceObject, asked: Asked): Promise<Record<string, unknown> | null> {
  const { call } = look.req;
  const api = asked.resource === '' ? null : (await recordOf(call, 'api_resources', asked.resource)).record;
  const wanted = {
    grant_type: asked.grant_type,
    client: record.id,
    scope: asked.scope,
    ...(api && { resource: words(api.attributes['identifier']) }),
  };
  if (isForClientItself(asked.grant_type)) return wanted;
  const { records } = await listOf(call, 'users', { filters: { email: asked.user.toLowerCase() }, size: 1 });
  return records[0] ? { ...wanted, user: records[0].id, assume_consent: asked.consent === 'given' } : null;
}

/** What this client would get now, as claims and with the reason for each scope: the answer of the API's `token_preview`. */
export async function tokenPreviewTab(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { call } = look.req;
  const { asked, isAsked } = askedOf(look, record);
  const lacking = token_preview.permissions.filter((name) => !call.actor.permissions.has(name));
  if (lacking.length > 0) return [notice('info', fill(sentences.a_preview_takes_more_permissions, { value: lacking.join(', ') }))];
  const lead: Part = {
    kind: 'text',
    title: null,
    paragraphs: [sentences.what_this_client_would_get],
  };
  const form = await question(look, record, asked);
  const own = isForClientItself(asked.grant_type);
  if (!isAsked) return [lead, form];
  if (!own && asked.user === '') return [lead, form, notice('info', sentences.enter_the_address_of_a)];
  const meta = await inputOf(look, record, asked);
  if (!meta) return [lead, form, notice('warning', sentences.there_is_no_user_with)];
  try {
    return [lead, form, ...resultParts((await runEndpoint(call, token_preview, () => ({ meta }))) as Previewed, own)];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [lead, form, notice('warning', error.errors.map(({ detail }) => detail).join(' '))];
  }
}
