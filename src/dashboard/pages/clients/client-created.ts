import type { ResourceObject } from '../../../management/documents.js';
import type { Part, Row, Value } from '../../parts/page-parts.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import { may } from '../../parts/records/objects.js';
import { duration, lines, stack, tags, text, words } from '../../parts/values.js';
import { clientFieldPath } from './client-fields.js';
import { grantLabels, kinds, methodLabels } from './client-kinds.js';
import { isSaml, samlSetUpParts } from './saml-client.js';
import { terms } from '../../parts/words.js';

export const createdLead = 'Step 3 of 3: copy what the application needs. Its settings are below; you can change them at any time.';

const change = (about: string, path: string): Value => ({ kind: 'link', text: 'Change', about, path });

/** A setting with the way to change it: the field of the client's form. */
const setting = (id: string, label: string, value: Value, field: string): Row => ({
  label,
  attribute: field,
  value: stack(value, change(label, clientFieldPath(id, field))),
});

/** How long its tokens last, where it says nothing itself. */
function lifetimes({ req }: ViewContext, a: ResourceObject['attributes']): Value {
  const { default_access_token_lifetime: access, refresh_token_lifetime: refresh } = req.ctx.environment;
  const [valid = '', renewed = ''] = [duration(access), duration(a['refresh_token_lifetime'] ?? refresh)].map((value) =>
    'text' in value ? value.text : '',
  );
  const hasRefresh = (a['grant_types'] as string[]).includes('refresh_token');
  return text(`Valid for ${valid}${hasRefresh ? `, renewed for ${renewed}` : ''}`);
}

function chosenPart(view: ViewContext, { id, attributes: a }: ResourceObject): Part {
  const grants = a['grant_types'] as string[];
  const people = a['application_type'] !== 'machine';
  const signsIn = grants.includes('authorization_code');
  const origins = a['allowed_origins'] as string[];
  const rows: Row[] = [
    { label: terms.application_type, value: text(kinds[words(a['application_type'])]?.label) },
    setting(id, terms.grant_types, tags(grants.map((grant) => grantLabels[grant]?.[0] ?? grant)), 'grant_types'),
    setting(id, terms.authentication_method, text(methodLabels[words(a['token_endpoint_auth_method'])]), 'token_endpoint_auth_method'),
    ...(signsIn ? [setting(id, terms.pkce, text(a['require_pkce'] === true ? terms.required : terms.optional), 'require_pkce')] : []),
    ...(people
      ? [
          setting(
            id,
            terms.consent,
            text(a['first_party'] === true ? 'Not asked: your own application' : 'Asked of each user'),
            'first_party',
          ),
        ]
      : []),
    ...(signsIn
      ? [
          setting(
            id,
            terms.id_token_claims,
            text(a['id_token_claims'] === 'profile' ? terms.protocol_and_profile_claims : terms.protocol_claims),
            'id_token_claims',
          ),
        ]
      : []),
    ...(origins.length > 0 ? [setting(id, terms.allowed_origins_cors, lines(origins), 'allowed_origins')] : []),
    setting(
      id,
      'Access tokens',
      stack(text(a['access_token_format'] === 'jwt' ? terms.jwt : terms.opaque), lifetimes(view, a)),
      'access_token_format',
    ),
    ...(signsIn && may(view.req.call, 'connections', 'read')
      ? [{ label: terms.connections, value: stack(text('All enabled connections'), change(terms.connections, `${recordPath('clients', id)}/connections`)) }] // prettier-ignore
      : []),
  ];
  return { kind: 'summary', title: 'Chosen for you', rows };
}

/** What the application is given: nothing else is needed to find the rest. */
function variablesPart({ req }: ViewContext, { id, attributes: a }: ResourceObject, secret: unknown): Part {
  const [redirect_uri] = (a['redirect_uris'] ?? []) as string[];
  const variables = [
    ['ISSUER', req.ctx.environment.issuer],
    ['CLIENT_ID', id],
    ...(typeof secret === 'string' ? [['CLIENT_SECRET', secret]] : []),
    ...(redirect_uri === undefined ? [] : [['REDIRECT_URI', redirect_uri]]),
  ];
  return {
    kind: 'code',
    id: 'snippet-variables',
    title: 'Environment variables',
    text: 'The configuration of the application. Many frameworks read it from the environment, or from a file such as .env.',
    code: variables.map(([name, value]) => `${name}=${value}`).join('\n'),
  };
}

/** What a machine lacks before it can get a token. */
function grantNotice({ req }: ViewContext, { id, attributes: a }: ResourceObject): Part[] {
  if (a['application_type'] !== 'machine') return [];
  const notice: Part = { kind: 'notice', tone: 'info', text: 'It can’t get access tokens until you add a client grant for an API.' };
  const path = `/dashboard/client_grants/new?client=${encodeURIComponent(id)}`;
  if (!may(req.call, 'client_grants', 'write')) return [notice];
  return [notice, { kind: 'buttons', links: [{ label: terms.create_client_grant, path }], posts: [] }];
}

export const addressesPart = ({ req }: ViewContext, { id }: ResourceObject): Part => ({
  kind: 'summary',
  title: 'Addresses',
  rows: [
    { label: terms.issuer, value: { kind: 'code', text: req.ctx.environment.issuer, copy: true } },
    { label: 'Discovery', value: { kind: 'code', text: `${req.ctx.environment.issuer}/.well-known/openid-configuration`, copy: true } },
    { label: terms.client_id, value: { kind: 'code', text: id, copy: true } },
  ],
});

/** The last step of making a client: what to copy, what was chosen, and what is left to do. `once` holds the secret, if it has one. */
export async function clientCreatedParts(
  view: ViewContext,
  record: ResourceObject,
  once?: Readonly<Record<string, unknown>>,
): Promise<readonly Part[]> {
  if (isSaml(record)) return samlSetUpParts(view, record);
  const secret = once?.['client_secret'];
  return [
    ...(secret === undefined ? [{ kind: 'text' as const, title: null, paragraphs: [createdLead] }] : []),
    addressesPart(view, record),
    variablesPart(view, record, secret),
    ...grantNotice(view, record),
    chosenPart(view, record),
  ];
}

/** Whether the page is the one that a new client leads to. */
export const isJustCreated = ({ req }: ViewContext): boolean =>
  new URL(req.originalUrl, 'http://own.invalid').searchParams.get('done') === 'created';
