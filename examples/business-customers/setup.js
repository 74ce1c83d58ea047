// Makes what the application needs: its client, a role, two organizations, and one administrator of both. Run it once; it prints the application's settings.
// Settings: ISSUER, MANAGEMENT_CLIENT_ID, MANAGEMENT_CLIENT_SECRET, ADMIN_EMAIL (a user that exists), APP_URL.
import { callApi, related } from './api.js';
import { managementScopes } from './scopes.js';

const {
  ISSUER = 'http://localhost:3000',
  APP_URL = 'http://localhost:3002',
  MANAGEMENT_CLIENT_ID,
  MANAGEMENT_CLIENT_SECRET,
  ADMIN_EMAIL,
} = process.env;

const answer = await fetch(new URL('/oauth/token', ISSUER), {
  method: 'POST',
  headers: { authorization: `Basic ${btoa(`${MANAGEMENT_CLIENT_ID}:${MANAGEMENT_CLIENT_SECRET}`)}` },
  body: new URLSearchParams({ grant_type: 'client_credentials', resource: new URL('/api', ISSUER).href }),
});
const { access_token, error_description } = await answer.json();
if (!answer.ok) throw new Error(error_description);

const find = async (collection, name, value) =>
  (await callApi(ISSUER, access_token, 'GET', `${collection}?${new URLSearchParams({ [`filter[${name}]`]: value })}`)).data[0];
const create = async (collection, type, attributes, relationships) =>
  (await callApi(ISSUER, access_token, 'POST', collection, { type, attributes, relationships })).data;

const person = await find('users', 'email', ADMIN_EMAIL);
if (!person) throw new Error(`Nobody has the address ${ADMIN_EMAIL}. Set ADMIN_EMAIL to the address of a user.`);
const administrators = await find('roles', 'name', 'organization_admin');
await create('roles', 'role', { name: 'editor', kind: 'organization', description: 'Writes documents.' });

const client = await create('clients', 'client', {
  name: 'Documents',
  application_type: 'web',
  first_party: true,
  redirect_uris: [`${APP_URL}/callback`],
  post_logout_redirect_uris: [`${APP_URL}/`],
  initiate_login_uri: `${APP_URL}/login`,
  // Everybody who signs in does so for an organization; who has several chooses.
  organization_usage: 'require',
  id_token_claims: 'profile',
  claim_mappings: [{ claim: 'roles', source: 'roles', in: ['id_token'] }],
});
// What the application may ask an organization's administrators for. Each gets what their roles hold, within their organization.
const management = await find('api_resources', 'identifier', new URL('/api', ISSUER).href);
await create(
  'client_grants',
  'client_grant',
  { scopes: managementScopes, subject_type: 'user' },
  { client: related('client', client.id), api_resource: related('api_resource', management.id) },
);
for (const [name, display_name] of [
  ['acme', 'Acme'],
  ['globex', 'Globex'],
]) {
  const organization = await create('organizations', 'organization', { name, display_name });
  await create(
    'organization_memberships',
    'organization_membership',
    {},
    {
      organization: related('organization', organization.id),
      user: related('user', person.id),
      roles: { data: [{ type: 'role', id: administrators.id }] },
    },
  );
}
console.log(`ISSUER=${ISSUER}\nAPP_URL=${APP_URL}\nCLIENT_ID=${client.id}\nCLIENT_SECRET=${client.attributes.client_secret}`);
