import { png } from '../images.js';
import { generateKeyPairSync } from 'node:crypto';
import { encodeCBOR } from '@levischuck/tiny-cbor';
import { samlKeyPair } from '../saml-provider.js';
import type { Document } from '../management.js';

const keys = [1, 2].map(() => ({
  keys: [{ ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }],
}));

/** A public key set, the first or the second of two. */
export const sampleKeys = (which: 1 | 2): Document => keys[which - 1] as Document;

export const detailType = (name: string): Document => ({ name, fields: [{ name: 'what', kind: 'text' }], sentence: { en: 'See {what}' } });

const coordinate = (text: string | undefined) => new Uint8Array(Buffer.from(text ?? '', 'base64url'));
const { x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
/** A public key of a passkey in COSE (RFC 9053), in base64url. */
export const sampleCoseKey = Buffer.from(
  encodeCBOR(new Map<number, number | Uint8Array>([[1, 2], [3, -7], [-1, 1], [-2, coordinate(x)], [-3, coordinate(y)]])), // prettier-ignore
).toString('base64url');

/** A passkey for the issuer of the walked environment; the secret of the other kind is left out. */
const passkey = (more: Document = {}): Document => ({
  kind: 'passkey',
  secret: undefined,
  credential_id: 'd2Fsa2Vk',
  public_key: sampleCoseKey,
  rp_id: 'primary.example.com',
  backup_eligible: false,
  ...more,
});
/** The same for somebody near and somebody far. */
const onBoth = (...sets: Document[]): Document[] => sets.flatMap((set) => [set, set]);

/** Claim mappings that tell of people, and those that say of them what nobody who administers people wrote. */
const mappings: readonly Document[] = [
  { claim_mappings: [{ claim: 'department', source: 'metadata.department', in: ['access_token'] }] },
  { claim_mappings: [{ claim: 'groups', source: 'roles', in: ['access_token'] }] },
  { claim_mappings: [{ claim: 'rights', source: 'permissions', in: ['access_token'] }] },
  { claim_mappings: [{ claim: 'upn', source: 'preferred_username', in: ['access_token'] }] },
  { claim_mappings: [{ claim: 'given_name', source: 'first_name', in: ['access_token'] }] },
  { claim_mappings: [{ claim: 'tier', value: 'gold', in: ['access_token'] }] },
  { claim_mappings: [] },
];

/** The address of a document that describes a client; the walked service is told what stands there. */
export const walkedDocument = 'https://walked.example/client.json';

const saml = {
  application_type: 'saml',
  redirect_uris: undefined,
  grant_types: undefined,
  token_endpoint_auth_method: undefined,
  saml_entity_id: 'https://walked.example/saml',
  saml_acs_urls: ['https://walked.example/acs'],
};
const { certificate: samlCertificate } = await samlKeyPair();
/** Of a new application, and of the one that there is. */
const ofSaml = (attributes: Document): Document[] => [{ ...saml, ...attributes }, attributes];

/** The record on which an attribute is walked that others can't have. */
export const onlyRecords: Readonly<Record<string, string>> = {
  'client.saml_entity_id': 'client saml',
  'client.saml_acs_urls': 'client saml',
  'client.saml_attributes': 'client saml',
  'client.saml_name_id': 'client saml',
  'client.saml_request_certificates': 'client saml',
};

/**
 * Attributes that go only with others, or whose telling values don't follow from their schema: each entry is the attributes of one request. What
 * isn't named here takes its values from the schema.
 */
export const interesting: Readonly<Record<string, readonly Document[]>> = {
  'client.application_type': [{ application_type: 'machine' }],
  'client.redirect_uris': [
    { redirect_uris: ['https://walked.example/cb'], grant_types: ['authorization_code'] },
    { redirect_uris: ['https://walked.example/cb'] },
  ],
  'client.post_logout_redirect_uris': [{ post_logout_redirect_uris: ['https://walked.example/'] }],
  'client.allowed_origins': [{ allowed_origins: ['https://walked.example'] }],
  'client.grant_types': [
    { grant_types: ['client_credentials'] },
    { grant_types: ['authorization_code'], redirect_uris: ['https://walked.example/cb'] },
  ],
  'client.token_endpoint_auth_method': [
    { token_endpoint_auth_method: 'private_key_jwt', jwks: sampleKeys(2) },
    { token_endpoint_auth_method: 'client_secret_post' },
    {
      token_endpoint_auth_method: 'none',
      application_type: 'web',
      grant_types: ['authorization_code'],
      redirect_uris: ['https://walked.example/cb'],
    },
    { token_endpoint_auth_method: 'none' },
  ],
  'client.jwks': [{ jwks: sampleKeys(2) }, { jwks: null }],
  'client.default_resource': [{ default_resource: 'https://api.example/near' }, { default_resource: null }],
  'client.jwks_uri': [{ jwks_uri: 'https://walked.example/jwks', jwks: null }],
  'client.branding': [{ branding: { name: 'Walked', primary_color: '#1a2b3c' } }],
  'client.scopes': [{ scopes: ['openid'] }, { scopes: null }],
  'client.initiate_login_uri': [{ initiate_login_uri: 'https://walked.example/start' }, { initiate_login_uri: null }],
  'client.saml_entity_id': ofSaml({ saml_entity_id: 'https://walked.example/other' }),
  'client.saml_acs_urls': ofSaml({ saml_acs_urls: ['https://walked.example/other'] }),
  'client.saml_attributes': [{ mail: 'email' }, { groups: 'roles' }, { given_name: 'given_name' }, { upn: 'nickname' }, {}].flatMap(
    (saml_attributes) => ofSaml({ saml_attributes }),
  ),
  'client.saml_name_id': ofSaml({ saml_name_id: 'email' }),
  'client.saml_request_certificates': ofSaml({ saml_request_certificates: [samlCertificate] }),
  'client.claim_mappings': mappings,
  'client.signal_audience': [{ signal_audience: 'everybody' }, { signal_audience: 'organization' }, { signal_audience: 'own' }],
  'api_resource.claim_mappings': mappings,
  'authenticator.kind': onBoth({ kind: 'totp' }, passkey()),
  'authenticator.secret': onBoth({ secret: 'KRSXG5CTMVRXEZLUKRSXG5CTMVRXEZLU' }),
  'authenticator.algorithm': onBoth({ algorithm: 'SHA512' }),
  'authenticator.digits': onBoth({ digits: 8 }),
  'authenticator.period': onBoth({ period: 60 }),
  'authenticator.credential_id': onBoth(passkey({ credential_id: 'YW5vdGhlcg' })),
  'authenticator.public_key': onBoth(passkey()),
  'authenticator.rp_id': onBoth(passkey()),
  'authenticator.sign_count': onBoth(passkey({ sign_count: 7 })),
  'authenticator.transports': onBoth(passkey({ transports: ['usb'] })),
  'authenticator.backup_eligible': onBoth(passkey({ backup_eligible: true })),
  'connection.second_factor': [{ second_factor: 'provider' }, { second_factor: 'asserted' }, { second_factor: 'own' }],
  'connection.trusted_acr_values': [{ trusted_acr_values: ['phr'] }, { trusted_acr_values: [] }],
  'environment.passkey_rp_id': [{ passkey_rp_id: 'verified.example.com' }, { passkey_rp_id: null }],
  'client_grant.scopes': [
    { scopes: ['users:read'] },
    { scopes: ['signing_keys:write', 'users:read', 'users:write'] },
    { scopes: [] },
    { scopes: ['near'] },
  ],
  'client_grant.token_exchange': [
    { token_exchange: 'delegation' },
    { token_exchange: 'impersonation' },
    { token_exchange: 'none', subject_audiences: [] },
    { subject_type: 'user', token_exchange: 'delegation' },
  ],
  'client_grant.subject_audiences': [
    { subject_audiences: [] },
    { subject_audiences: ['https://api.example/near'] },
    { subject_type: 'user', token_exchange: 'delegation', subject_audiences: ['https://api.example/near'] },
  ],
  'client_grant.assertions': [{ assertions: true }, { subject_type: 'user', assertions: true }, { assertions: false }],
  'external_server.resources': [{ resources: [{ identifier: 'https://walked.example/', scopes: ['walked'] }] }],
  'external_server.audiences': [{ audiences: ['https://walked.example'] }],
  'outbound_grant.external_client_id': [{ external_client_id: 'walked' }],
  'outbound_grant.authorization_details_types': [{ authorization_details_types: ['walked'] }],
  'provider_grant.scopes': [{ scopes: ['walked'] }],
  'connection.token_storage': [{ token_storage: true }, { token_storage: false }],
  'connection.assertions': [{ assertions: 'on' }, { assertions: 'off' }],
  'connection.assertion_issuer': [{ assertion_issuer: 'https://walked.example' }, { assertion_issuer: null }],
  'connection.assertion_jwks_uri': [{ assertion_jwks_uri: 'https://walked.example/jwks' }, { assertion_jwks_uri: null }],
  'connection.signals': [
    { signals: 'push' },
    { signals: 'poll', signals_poll_url: 'https://walked.example/poll', signals_token: 'token' },
    { signals: 'off' },
  ],
  'connection.signals_issuer': [{ signals_issuer: 'https://walked.example' }, { signals_issuer: null }],
  'connection.signals_poll_url': [{ signals_poll_url: 'https://walked.example/poll' }, { signals_poll_url: null }],
  'trusted_issuer.jwks': [{ jwks: sampleKeys(2), jwks_uri: null }, { jwks: null }],
  'trusted_issuer.jwks_uri': [{ jwks_uri: 'https://walked.example/jwks', jwks: null }, { jwks_uri: null }],
  'federated_credential.claims': [{ claims: { sub: 'walked' } }],
  // Where its secret goes already.
  'connection.issuer': [{ issuer: 'https://provider.example/walked' }],
  'connection.token_endpoint': [{ token_endpoint: 'https://provider.example/token' }],
  'connection.strategy': [{ strategy: 'oidc' }, { strategy: 'google' }],
  'connection.name': [{ name: 'walked' }],
  'connection.claim_mapping': [{ claim_mapping: { email: 'upn' } }],
  'connection.options': [{ options: { prompt: 'login' } }, { options: {} }],
  'connection.domains': [{ domains: ['walked.example'] }],
  'connection.scopes': [{ scopes: ['openid', 'email'] }],
  'connection.account_linking': [{ account_linking: 'verified_email' }, { account_linking: 'never' }],
  'custom_domain.issuer_until': [{ issuer_until: '2040-01-01T00:00:00.000Z' }, { issuer_until: null }],
  'environment.base_url_issuer_until': [{ base_url_issuer_until: '2040-01-01T00:00:00.000Z' }, { base_url_issuer_until: null }],
  'organization.name': [{ name: 'walked' }],
  'organization.branding': [{ branding: { name: 'Walked', primary_color: '#1a2b3c' } }],
  'organization_domain.domain': [{ domain: 'walked.example.net' }],
  'setup_link.parts': [{ parts: ['connection', 'directory'] }],
  'custom_domain.domain': [{ domain: 'walked.example.com' }],
  'client.client_id': [{ client_id: 'walked-client' }],
  'client.client_id_metadata_uri': [
    { client_id_metadata_uri: walkedDocument, name: undefined, application_type: undefined, redirect_uris: undefined },
  ],
  'environment.client_id_metadata_hosts': [{ client_id_metadata_hosts: ['walked.example', '*.walked.example'] }],
  'environment.slug': [{ slug: 'walked' }],
  'environment.branding': [{ branding: { name: 'Walked', primary_color: '#1a2b3c' } }],
  'environment.allowed_email_domains': [{ allowed_email_domains: ['walked.example'] }],
  'permission.name': [{ name: 'walked' }],
  'authorization_detail_type.name': [{ name: 'walked' }],
  'authorization_detail_type.fields': [{ fields: [{ name: 'what', kind: 'text', max: 9 }] }],
  'authorization_detail_type.sentence': [{ sentence: { en: 'Walk {what}' } }],
  'client.authorization_details_types': [{ authorization_details_types: ['walked'] }],
  'signing_key.algorithm': [{ algorithm: 'RS256' }],
  'registration_token.expires_at': [{ expires_at: new Date(Date.now() + 86_400_000).toISOString() }],
  'user.birthdate': [{ birthdate: '1990-01-31' }],
  'user.password': [{ password: 'walked through every door' }],
  'user.password_hash': [{ password_hash: '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy' }],
  'user_import.hash_parameters': [{ hash_parameters: { signer_key: 'd2Fsa2Vk', salt_separator: 'Bw==' } }],
  'user_import.source_url': [{ source_url: 'https://walked.example/users.ndjson' }],
  'environment.password_migration_url': [{ password_migration_url: 'https://walked.example/check' }],
  'user.phone_number': [{ phone_number: '+441632960961' }],
  'log_stream.sources': [{ sources: ['security_events'] }, { sources: ['security_events', 'audit_logs'] }, { sources: ['events'] }],
  'page_text.key': [{ key: 'forgot.title' }],
  'page_text.text': [{ text: 'Walked' }],
  'logo.image': [{ image: png(4, 4).toString('base64') }],
  'mail_template.name': [{ name: 'sign_in_code' }],
  'mail_template.text': [{ text: 'Walked: {{code}}' }],
  'mail_template.html': [{ html: '<p>Walked: {{code}}</p>' }],
  // The header is for the host that it was given for: with another it is said again, or null.
  'log_stream.url': [{ url: 'https://walked.example/logs', authorization: null }],
  'log_stream.authorization': [{ authorization: 'Bearer other' }, { authorization: null }],
  'webhook.events': [{ events: ['user.created'] }, { events: ['*'] }, { events: ['role.created'] }, { events: ['token.issued'] }],
};

/** What must be done away with for an operation to be possible at all, by what it walks. */
export const preparations: Readonly<Record<string, string>> = {
  'create signing_key.': `delete from signing_keys where status = 'next'`,
  'create signing_key.algorithm': `delete from signing_keys where status = 'next'`,
  'create saml_certificate.': `delete from saml_certificates where status = 'next'`,
  'cancel_deletion user': `update users set deletion_due_at = now() + interval '1 day'`,
  'create directory.': `delete from directories`,
  'create directory.status': `delete from directories`,
};

/** Actions that clients, as whom the walk goes, are always refused: a test of a mail goes to the address of the person who asks. */
export const forPeopleAlone: ReadonlySet<string> = new Set(['mail_template.test']);

/** Input of actions that take one. */
export const actionInputs: Readonly<Record<string, Document>> = { 'webhook.redeliver_failed': { meta: { since: '2020-01-01T00:00:00Z' } } };
