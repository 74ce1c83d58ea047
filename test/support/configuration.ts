import { expect } from 'vitest';
import type { Api, ApiAnswer, Document } from './management.js';

/** A document with a record of every kind that names another. */
export const shopDocument: Document = {
  version: 1,
  environment: { session_lifetime: 86_400, branding: { name: 'Shop' } },
  api_resources: [
    {
      identifier: 'https://api.example',
      name: 'Orders',
      permissions: [{ name: 'orders:read' }, { name: 'orders:write', description: 'Change orders.' }],
      authorization_detail_types: [
        {
          name: 'order',
          fields: [{ name: 'total', kind: 'money', required: true, max: 500, currency: 'EUR' }],
          sentence: { en: 'Order for {total}' },
        },
      ],
    },
  ],
  roles: [
    {
      name: 'clerk',
      permissions: [
        { api_resource: 'management', names: ['users:read'] },
        { api_resource: 'https://api.example', names: ['orders:write', 'orders:read'] },
      ],
    },
  ],
  connections: [
    {
      name: 'acme',
      display_name: 'Acme',
      strategy: 'oidc',
      issuer: 'https://idp.example',
      provider_client_id: 'shop',
      provider_client_secret: { env: 'ACME_SECRET' },
      signals_token: { env: 'ACME_SIGNALS' },
      token_storage: true,
      provider_grants: [{ client: 'shop', scopes: ['calendar'] }],
    },
  ],
  trusted_issuers: [{ issuer: 'https://ci.example', name: 'CI', jwks_uri: 'https://ci.example/keys' }],
  clients: [
    {
      client_id: 'shop',
      name: 'Shop',
      application_type: 'machine',
      grant_types: ['client_credentials'],
      client_secret: { env: 'SHOP_SECRET' },
      grants: [{ api_resource: 'https://api.example', scopes: ['orders:read'] }],
    },
    { client_id: 'front', name: 'Front', application_type: 'spa', redirect_uris: ['https://shop.example/cb'], connections: ['acme'] },
    {
      client_id: 'wiki',
      name: 'Wiki',
      application_type: 'saml',
      saml_entity_id: 'https://wiki.example/saml',
      saml_acs_urls: ['https://wiki.example/saml/acs'],
      saml_attributes: { mail: 'email', groups: 'roles' },
    },
    {
      client_id: 'deploy',
      name: 'Deployment',
      application_type: 'machine',
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'private_key_jwt',
      federated_credentials: [
        { trusted_issuer: 'https://ci.example', claims: { sub: 'repo:acme/shop:ref:refs/heads/main' } },
        {
          trusted_issuer: 'https://ci.example',
          audience: 'deploy',
          claims: { sub: { prefix: 'repo:acme/infrastructure:' }, 'a.b': ['x', 'y'] },
        },
      ],
    },
  ],
  external_servers: [
    {
      issuer: 'https://auth.tools.example',
      name: 'Tools',
      resources: [{ identifier: 'https://mcp.tools.example/', scopes: ['read', 'write'] }],
      sign_in_client: 'wiki',
      grants: [
        { client: 'shop', external_client_id: 'shop-there', scopes: ['read'], authorization_details_types: ['payment'] },
        { client: 'shop', external_client_id: 'shop-there', role: 'clerk' },
      ],
    },
  ],
  log_streams: [
    {
      name: 'siem',
      url: 'https://siem.example/in',
      format: 'ecs',
      sources: ['security_events'],
      signing_secret: { env: 'SIEM_SIGNING' },
      authorization: { env: 'SIEM_AUTHORIZATION' },
    },
  ],
  mail_templates: [
    { name: 'register_code', subject: 'Your code', text: '{{code}}\n' },
    { name: 'register_code', locale: 'de', subject: 'Ihr Code', text: 'Ihr Code:\n\n{{code}}\n', html: '<p>{{code}}</p>' },
  ],
  page_texts: [
    { key: 'login.title', locale: 'en', text: 'Welcome to the shop' },
    { key: 'login.title', locale: 'de', text: 'Willkommen im Laden' },
  ],
  webhooks: [{ name: 'erp', url: 'https://erp.example/hook', events: ['user.created'], signing_secret: { file: '/run/secrets/hook' } }],
};

/** What its references stand for. */
export const shopSecrets: Record<string, string> = {
  'env:ACME_SECRET': 'the secret that Acme has given us',
  'env:ACME_SIGNALS': 'the token of Acme’s signals',
  'env:SHOP_SECRET': 'a-shop-secret-of-more-than-thirty-two-characters',
  'env:SIEM_SIGNING': `whsec_${Buffer.alloc(32, 8).toString('base64')}`,
  'env:SIEM_AUTHORIZATION': 'Bearer the token of the SIEM',
  'file:/run/secrets/hook': `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
};

export type Given = { secrets?: Record<string, string>; prune?: boolean; expected_state?: string };

export const plan = (api: Api, document: unknown, given: Given = {}): Promise<ApiAnswer> =>
  api.post('/config/plan', { meta: { document, ...given } });
export const apply = (api: Api, document: unknown, given: Given = {}): Promise<ApiAnswer> =>
  api.post('/config/apply', { meta: { document, ...given } });

/** `create client shop` for each change. */
export const told = ({ body }: ApiAnswer): string[] =>
  ((body['meta']?.changes ?? []) as Document[]).map(({ action, kind, key }) => `${action} ${kind} ${key}`);

/** `code pointer` for each problem. */
export const problemsOf = ({ body }: ApiAnswer): string[] =>
  ((body['errors'] ?? []) as Document[]).map(({ code, source }) => `${code} ${(source as Document | undefined)?.['pointer'] ?? ''}`);

/** Applies what must be taken. */
export async function applied(api: Api, document: unknown, given: Given = {}): Promise<Document> {
  const answer = await apply(api, document, given);
  expect([answer.status, problemsOf(answer)]).toEqual([200, []]);
  return answer.body['meta'] as Document;
}

export async function exported(api: Api): Promise<Document> {
  const answer = await api.get('/config');
  expect([answer.status, answer.body['errors']]).toEqual([200, undefined]);
  return answer.body['meta'].document as Document;
}
