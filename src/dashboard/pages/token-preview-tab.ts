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
  authorization_code: 'Sign-in (code)',
  refresh_token: 'Refresh token',
  [deviceCodeGrantType]: 'Device code',
  client_credentials: 'Client credentials',
  [jwtBearerGrantType]: 'JWT bearer',
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
    { value: '', label: 'As it stands' },
    { value: 'given', label: 'As if given' },
  ];
  const ofPeople: FilterField[] = [
    { name: 'user', label: 'Email address of a user', value: asked.user, choices: null, kind: 'search' },
    { name: 'consent', label: 'Consent', value: asked.consent, choices: consents, kind: 'select' },
  ];
  const fields: FilterField[] = [
    { name: 'grant_type', label: 'Grant type', value: asked.grant_type, choices: grantTypes, kind: 'select' },
    ...(types.every(isForClientItself) ? [] : ofPeople),
    { name: 'resource', label: 'API', value: asked.resource, choices: [{ value: '', label: 'None' }, ...apis], kind: 'select' },
    { name: 'scope', label: 'Scopes', value: asked.scope, choices: null, kind: 'search' },
  ];
  return { kind: 'filters', action: path(record), fields, hidden: {}, clear: null, button: 'Preview' };
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
    caption: 'Scopes',
    heading: true,
    columns: [{ label: 'Scope' }, { label: 'In the token' }, { label: 'Why' }, { label: 'What to do' }],
    rows: scopes.map(({ name, granted, rule, detail }) => ({
      path: null,
      cells: [code(name), granted ? state('good', 'Yes') : state('bad', 'No'), text(detail), text(granted ? '' : refusalRules[rule].fix)],
    })),
    empty: { title: 'No scopes', text: 'None was asked for, and none comes by itself.', button: null },
    pager: null,
  };
}

function tokensParts({ access_token, id_token, userinfo, refresh_token }: Previewed, own: boolean): Part[] {
  if (!access_token) return [];
  const { format, lifetime } = access_token;
  const how = format === 'jwt' ? 'A JWT; whoever has it can read it.' : 'Opaque: this is what introspection tells of it.';
  const lead = `${how} It lives ${durationWords(lifetime)}.`;
  const none = (title: string): Part => ({ kind: 'text', title, paragraphs: ['There is none: the scope has no openid.'] });
  const refresh: Part = {
    kind: 'text',
    title: 'Refresh token',
    paragraphs: [refresh_token ? 'One comes along.' : 'There is none: the client has not the grant type refresh_token.'],
  };
  if (own) return [block('access-token', 'Access token', lead, access_token.claims)];
  return [
    block('access-token', 'Access token', lead, access_token.claims),
    id_token ? block('id-token', 'ID token', null, id_token) : none('ID token'),
    userinfo ? block('userinfo', 'Userinfo', null, userinfo) : none('Userinfo'),
    refresh,
  ];
}

const resultParts = (previewed: Previewed, own: boolean): Part[] => [
  ...(previewed.refusal
    ? [
        notice(
          'bad',
          `There would be no token: ${previewed.refusal.error}. ${refusalRules[previewed.refusal.rule].found} ${refusalRules[previewed.refusal.rule].fix}`,
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
  if (lacking.length > 0) return [notice('info', `A preview takes more permissions: ${lacking.join(', ')}.`)];
  const lead: Part = {
    kind: 'text',
    title: null,
    paragraphs: [
      'What this client would get now, answered by the code that issues tokens. Nothing is issued; times, ids and hashes are examples.',
    ],
  };
  const form = await question(look, record, asked);
  const own = isForClientItself(asked.grant_type);
  if (!isAsked) return [lead, form];
  if (!own && asked.user === '')
    return [lead, form, notice('info', 'Enter the address of a user to see what the client would get for them.')];
  const meta = await inputOf(look, record, asked);
  if (!meta) return [lead, form, notice('warning', 'There is no user with this address.')];
  try {
    return [lead, form, ...resultParts((await runEndpoint(call, token_preview, () => ({ meta }))) as Previewed, own)];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [lead, form, notice('warning', error.errors.map(({ detail }) => detail).join(' '))];
  }
}
