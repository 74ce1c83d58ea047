// Every client library and product that has a guide, in the order of the table: what it needs on this machine, and what is tried.
import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { javaTrials } from './java-trials.js';
import { javaScriptTrials } from './javascript-trials.js';
import { grantOrders, ordersAreProtected, ordersNeedPermission, type OrdersApi } from './orders.js';
import { pythonTrials } from './python-trials.js';
import { person, type Service } from './service.js';
import { stepUpIsAsked } from './step-up.js';
import { found, fromPackage, installedPackage, signInAndOut, type Trial } from './trial.js';

const springOrders: OrdersApi = {
  folder: 'spring',
  audience: 'https://orders.example.com',
  origin: 'http://localhost:8080',
  paths: ['/api/orders'],
};
const orders: OrdersApi = {
  folder: 'protect-an-api',
  audience: 'https://orders.example.org',
  origin: 'http://localhost:3003',
  paths: ['/orders', '/payments'],
};

const ledger: OrdersApi = { folder: 'dpop', audience: 'https://ledger.example.org', origin: 'http://localhost:3006', paths: ['/orders'] };

/** What the guide's client prints: let in with a proof, kept out without. */
async function ledgerIsBound({ issuer }: Service, variables: Readonly<Record<string, string>>): Promise<void> {
  const options = { cwd: join('.clients', 'dpop'), env: { ...process.env, ...variables, ISSUER: issuer } };
  const { stdout } = await promisify(execFile)(process.execPath, ['call.js'], options);
  const orders = { for: variables['CLIENT_ID'] };
  assert.deepEqual(JSON.parse(stdout), { token_type: 'dpop', status: 200, orders, without_proof: 401 });
}

/** Somebody who gets a second factor, for which every sign-in asks from then on. */
const cautious = { email: 'grace@example.com', password: person.password };

/** The person's role, which the API server gets as a group. */
async function makeEditor({ create, personId }: Service): Promise<void> {
  const { id } = await create('/roles', { data: { type: 'role', attributes: { name: 'editor' } } });
  await create(`/users/${personId}/relationships/roles`, { data: [{ type: 'role', id }] });
}

export const trials: readonly Trial[] = [
  {
    name: 'openid-client',
    title: 'openid-client (Node.js)',
    programs: ['npm'],
    url: 'http://localhost:3001/',
    visit: { signOut: 'provider' },
    version: fromPackage('openid-client'),
    shows: signInAndOut,
  },
  {
    name: 'auth-js',
    title: 'Auth.js',
    programs: ['npm'],
    url: 'http://localhost:3001/',
    visit: { signOut: 'application' },
    version: fromPackage('@auth/core'),
    shows: 'sign in, name and email address, sign out of the application',
  },
  ...javaScriptTrials,
  ...pythonTrials,
  {
    name: 'go-oidc',
    title: 'go-oidc',
    programs: ['go'],
    url: 'http://localhost:5556/',
    visit: { signOut: 'provider' },
    version: found(/go-oidc\/v3 v(\S+)/, 'go.mod'),
    shows: signInAndOut,
  },
  {
    name: 'kubernetes',
    title: 'Kubernetes',
    programs: ['go'],
    scheme: 'https',
    url: null,
    visit: null,
    prepare: makeEditor,
    version: found(/k8s\.io\/apiserver v(\S+)/, 'go.mod'),
    shows:
      'the API server’s authenticator reads the configuration, and takes the ID token: user name and groups; none of another client, none forged',
  },
  {
    name: 'spring',
    title: 'Spring Boot',
    programs: ['mvn', 'javac'],
    url: 'http://localhost:8080/',
    visit: { signOut: 'provider', callsApi: '/orders' },
    prepare: grantOrders(springOrders),
    check: ordersAreProtected(springOrders),
    version: found(/<artifactId>spring-boot-starter-parent<\/artifactId>\s*<version>(.+?)</, 'pom.xml'),
    shows: `${signInAndOut}; client credentials; an API that checks audience and permissions`,
  },
  ...javaTrials,
  {
    name: 'rust-openidconnect',
    title: 'openidconnect (Rust)',
    programs: ['cargo'],
    url: 'http://localhost:8082/',
    visit: { signOut: 'provider' },
    version: found(/name = "openidconnect"\nversion = "(.+?)"/, 'Cargo.lock'),
    shows: signInAndOut,
  },
  {
    name: 'omniauth',
    title: 'OmniAuth (Ruby)',
    programs: ['ruby', '/usr/share/doc/ruby-omniauth-openid-connect', '/usr/share/doc/ruby-sinatra'],
    url: 'http://localhost:4567/',
    visit: { signOut: 'provider' },
    version: installedPackage('ruby-omniauth-openid-connect'),
    shows: signInAndOut,
  },
  {
    name: 'mod-auth-openidc',
    title: 'mod_auth_openidc (Apache)',
    programs: ['apache2', '/usr/lib/apache2/modules/mod_auth_openidc.so'],
    url: 'http://localhost:8083/',
    visit: { signOut: 'provider' },
    version: installedPackage('libapache2-mod-auth-openidc'),
    shows: signInAndOut,
  },
  {
    name: 'protect-an-api',
    title: 'Protect an API',
    programs: ['npm'],
    url: 'http://localhost:3003/',
    visit: null,
    prepare: grantOrders(orders),
    check: async (service, variables) => {
      await ordersAreProtected(orders)(service, variables);
      await ordersNeedPermission(service, variables, orders, '/secrets');
    },
    version: fromPackage('jose'),
    shows: 'JWT and introspection: good tokens, forged ones, for another API, with too little',
  },
  {
    name: 'dpop',
    title: 'DPoP',
    programs: ['npm'],
    url: 'http://localhost:3006/',
    visit: null,
    prepare: grantOrders(ledger),
    check: ledgerIsBound,
    version: fromPackage('openid-client'),
    shows: 'client credentials bound to a key; an API that takes them with a proof, and not without',
  },
  {
    name: 'fapi2',
    title: 'FAPI 2.0',
    programs: ['npm'],
    url: 'http://localhost:3007/',
    visit: { signOut: 'provider' },
    version: fromPackage('openid-client'),
    shows: `${signInAndOut}; private_key_jwt, PAR and DPoP`,
  },
  {
    name: 'step-up',
    title: 'Step-up',
    programs: ['npm'],
    url: 'http://localhost:3005/',
    visit: null,
    prepare: async (service) => {
      await service.create('/api_resources', JSON.parse(await readFile('examples/clients/step-up/api_resource.json', 'utf8')));
      await service.create('/users', { data: { type: 'user', attributes: { ...cautious, email_verified: true } } });
    },
    check: ({ issuer }) => stepUpIsAsked(issuer, 'http://localhost:3005/', cautious),
    version: fromPackage('openid-client'),
    shows: 'an API asks for a second factor, the person gives it, nothing else is asked',
  },
  {
    name: 'single-page',
    title: 'Single-page application',
    programs: ['npm'],
    url: 'http://localhost:3002/',
    visit: { signOut: 'provider' },
    version: fromPackage('openid-client'),
    shows: `${signInAndOut}, without a server`,
  },
  {
    name: 'native',
    title: 'Native application',
    programs: ['npm'],
    url: null,
    visit: null,
    version: fromPackage('openid-client'),
    shows: 'sign in, name and email address, on a loopback port of its own choice',
  },
  {
    name: 'device',
    title: 'Device without a browser',
    programs: ['npm'],
    url: null,
    visit: null,
    typesCode: true,
    version: fromPackage('openid-client'),
    shows: 'a code typed elsewhere, name and email address',
  },
  {
    name: 'own-login-pages',
    title: 'Own login pages',
    programs: ['npm'],
    url: 'http://localhost:3004/',
    visit: { signOut: 'application', ownForm: true },
    version: async () => '',
    shows: 'sign in and out by JSON from another origin',
  },
];
