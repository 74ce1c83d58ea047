import { ApiError } from '../../../errors.js';
import { deviceCodeGrantType, jwtBearerGrantType } from '../../../lib/grant-types.js';
import { named } from '../../../lib/named.js';
import { refusalRules, type PreviewRule } from '../../../lib/refusal-rules.js';
import { token_preview } from '../../../management/calls/token_preview.js';
import type { ResourceObject } from '../../../management/documents.js';
import { runEndpoint } from '../../../management/run-endpoint.js';
import { isForClientItself, previewedGrantTypes } from '../../../oauth/preview/token-preview.js';
import { apiResourceChoices } from '../../parts/forms/choices.js';
import type { Choice, FilterField, Part } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import { listOf, may, recordOf } from '../../parts/records/objects.js';
import { code, durationWords, state, text, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

type PreviewRequest = {
  readonly grant_type: string;
  readonly user: string;
  readonly resource: string;
  readonly scope: string;
  readonly organization: string;
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
  refresh_token: terms.refresh_token,
  [deviceCodeGrantType]: terms.device_authorization,
  client_credentials: terms.client_credentials,
  [jwtBearerGrantType]: terms.jwt_bearer,
});

const previewable = (record: ResourceObject): string[] => {
  const own = record.attributes['grant_types'] as string[];
  return previewedGrantTypes.filter((one) => own.includes(one));
};

export const isPreviewable = (record: ResourceObject): boolean => previewable(record).length > 0;

const path = (record: ResourceObject) => `${recordPath('clients', record.id)}/token_preview`;

/** What is asked for; null before anything was. */
function previewRequestOf({ req }: ViewContext, record: ResourceObject): { readonly request: PreviewRequest; readonly isSent: boolean } {
  const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
  const value = (name: string) => (query.get(name) ?? '').slice(0, 1000).trim();
  const [first = ''] = previewable(record);
  const grant_type = previewable(record).find((one) => one === value('grant_type')) ?? first;
  const scope = query.has('scope') ? value('scope') : isForClientItself(grant_type) ? '' : 'openid profile email';
  return {
    request: {
      grant_type,
      user: value('user'),
      resource: value('resource'),
      scope,
      organization: value('organization'),
      consent: value('consent'),
    },
    isSent: query.has('scope'),
  };
}

async function question(view: ViewContext, record: ResourceObject, request: PreviewRequest): Promise<Part> {
  const types = previewable(record);
  const grantTypes: Choice[] = types.map((value) => ({ value, label: grantTypeLabels[value] ?? value }));
  const apis = may(view.req.call, 'api_resources', 'read') ? await apiResourceChoices(view) : [];
  const consents: Choice[] = [
    { value: '', label: 'Use existing consent' },
    { value: 'given', label: 'As if given' },
  ];
  const ofPeople: FilterField[] = [
    { name: 'user', label: terms.email_address_of_a_user, value: request.user, choices: null, kind: 'search' },
    { name: 'consent', label: terms.consent, value: request.consent, choices: consents, kind: 'select' },
  ];
  const ofOrganization: FilterField = {
    name: 'organization',
    label: terms.name_of_an_organization,
    value: request.organization,
    choices: null,
    kind: 'search',
  };
  const fields: FilterField[] = [
    { name: 'grant_type', label: terms.grant_type, value: request.grant_type, choices: grantTypes, kind: 'select' },
    ...(types.every(isForClientItself) ? [] : ofPeople),
    { name: 'resource', label: terms.api, value: request.resource, choices: [{ value: '', label: terms.none }, ...apis], kind: 'select' },
    { name: 'scope', label: terms.scopes, value: request.scope, choices: null, kind: 'search' },
    ...(record.attributes['organization_usage'] === 'deny' ? [] : [ofOrganization]),
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

const scopesPart = (scopes: readonly Scope[]): Part =>
  pageTable({
    id: 'scopes',
    caption: terms.scopes,
    columns: [terms.scope, 'In the token', terms.reason, terms.remedy],
    rows: scopes.map(({ name, granted, rule, detail }) => ({
      cells: [
        code(name),
        granted ? state('good', terms.yes) : state('bad', terms.no),
        text(detail),
        text(granted ? '' : refusalRules[rule].fix),
      ],
    })),
    nothing: [terms.no_scopes, 'None was requested, and there is no default.'],
  });

function tokensParts({ access_token, id_token, userinfo, refresh_token }: Previewed, own: boolean): Part[] {
  if (!access_token) return [];
  const { format, lifetime } = access_token;
  const how = format === 'jwt' ? 'A JWT: anyone who has it can read it.' : 'Opaque: introspection returns this.';
  const lead = `${how} Expires in ${durationWords(lifetime)}.`;
  const none = (title: string): Part => ({ kind: 'text', title, paragraphs: ['Not issued: the scope doesn’t include openid.'] });
  const refresh: Part = {
    kind: 'text',
    title: terms.refresh_token,
    paragraphs: [refresh_token ? 'Issued.' : 'Not issued: the client doesn’t have the grant type refresh_token.'],
  };
  if (own) return [block('access-token', terms.access_token, lead, access_token.claims)];
  return [
    block('access-token', terms.access_token, lead, access_token.claims),
    id_token ? block('id-token', 'ID token', null, id_token) : none('ID token'),
    userinfo ? block('userinfo', 'UserInfo', null, userinfo) : none('UserInfo'),
    refresh,
  ];
}

const resultParts = (previewed: Previewed, own: boolean): Part[] => [
  ...(previewed.refusal
    ? [
        notice(
          'bad',
          `No token would be issued: ${previewed.refusal.error}. ${refusalRules[previewed.refusal.rule].found} ${refusalRules[previewed.refusal.rule].fix}`,
        ),
      ]
    : []),
  ...(previewed.refusal && previewed.scopes.length === 0 ? [] : [scopesPart(previewed.scopes)]),
  ...tokensParts(previewed, own),
];

/** The input of the call; null when there is no such user. */
async function inputOf(view: ViewContext, record: ResourceObject, request: PreviewRequest): Promise<Record<string, unknown> | null> {
  const { call } = view.req;
  const api = request.resource === '' ? null : (await recordOf(call, 'api_resources', request.resource)).record;
  const input = {
    grant_type: request.grant_type,
    client: record.id,
    scope: request.scope,
    ...(api && { resource: words(api.attributes['identifier']) }),
  };
  if (isForClientItself(request.grant_type)) return input;
  const { records } = await listOf(call, 'users', { filters: { email: request.user.toLowerCase() }, size: 1 });
  const organization = request.organization === '' ? {} : { organization: request.organization };
  return records[0] ? { ...input, ...organization, user: records[0].id, assume_consent: request.consent === 'given' } : null;
}

/** What this client would get now, as claims and with the reason for each scope: the answer of the API's `token_preview`. */
export async function tokenPreviewTab(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const { call } = view.req;
  const { request, isSent } = previewRequestOf(view, record);
  const lacking = token_preview.permissions.filter((name) => !call.actor.permissions.has(name));
  if (lacking.length > 0) return [notice('info', `You need more permissions for a preview: ${lacking.join(', ')}.`)];
  const lead: Part = {
    kind: 'text',
    title: null,
    paragraphs: ['What this client would get now. Nothing is issued; times, IDs and hashes are examples.'],
  };
  const form = await question(view, record, request);
  const own = isForClientItself(request.grant_type);
  if (!isSent) return [lead, form];
  if (!own && request.user === '')
    return [lead, form, notice('info', 'Enter the address of a user to see what the client would get for them.')];
  const meta = await inputOf(view, record, request);
  if (!meta) return [lead, form, notice('warning', terms.no_user_with_this_address)];
  try {
    return [lead, form, ...resultParts((await runEndpoint(call, token_preview, () => ({ meta }))) as Previewed, own)];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [lead, form, notice('warning', error.errors.map(({ detail }) => detail).join(' '))];
  }
}
