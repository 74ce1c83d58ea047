import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { childrenOf } from '../processor-time.js';
import { endProcess, fixtures, freePort, startProcess, type ServerOptions, type Target } from './target.js';

const version = '26.7.3';
const folder = fileURLToPath(new URL('../peers/keycloak/', import.meta.url));
const home = `${folder}keycloak-${version}`;

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} ${error ? `can't be run: ${error.message}` : `ended with ${String(status)}`}`);
}

/** Fetches its distribution with Maven and builds it for PostgreSQL, unless both were done. */
function install(): void {
  if (existsSync(`${home}/lib/quarkus/build-system.properties`)) return;
  console.error(`... Keycloak ${version} by Maven`);
  const artifact = `org.keycloak:keycloak-quarkus-dist:${version}:tar.gz`;
  run('mvn', [
    '-q',
    '-B',
    'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack',
    `-Dartifact=${artifact}`,
    `-DoutputDirectory=${folder}`,
  ]);
  run(`${home}/bin/kc.sh`, ['build', '--db=postgres', '--cache=local']);
}

const client = (clientId: string, more: object) => ({
  clientId,
  redirectUris: [fixtures.redirect_uri],
  standardFlowEnabled: true,
  defaultClientScopes: ['basic', 'profile', 'email'],
  publicClient: true,
  ...more,
});

/** One round of PBKDF2 for a password: what is compared is a sign-in without its hash. */
const realm = {
  realm: 'bench',
  enabled: true,
  sslRequired: 'none',
  passwordPolicy: 'hashAlgorithm(pbkdf2-sha256) and hashIterations(1)',
  clients: [
    client(fixtures.client.id, { publicClient: false, secret: fixtures.client.secret, serviceAccountsEnabled: true }),
    client(fixtures.publicClient.id, {}),
    client(fixtures.othersClient.id, { consentRequired: true }),
  ],
  users: fixtures.people.map((email) => ({
    username: email,
    email,
    emailVerified: true,
    enabled: true,
    firstName: 'Grace',
    lastName: 'Hopper',
    credentials: [{ type: 'password', value: fixtures.person.password }],
  })),
};

/** Starts Keycloak on an empty database as for production, with one realm. Only whole sign-ins are compared. */
export async function startKeycloak(options: ServerOptions, scenarios: readonly string[]): Promise<Target> {
  install();
  mkdirSync(`${home}/data/import`, { recursive: true });
  writeFileSync(`${home}/data/import/bench-realm.json`, JSON.stringify(realm));
  const port = await freePort();
  const management = await freePort();
  const { username, password, host, pathname } = new URL(options.databaseUrl);
  const started = await startProcess([`${home}/bin/kc.sh`, 'start', '--optimized', '--import-realm'], {
    processors: options.processors,
    log: options.log,
    env: {
      KC_DB_URL: `jdbc:postgresql://${host}${pathname}`,
      KC_DB_USERNAME: username,
      KC_DB_PASSWORD: password,
      KC_HTTP_ENABLED: 'true',
      KC_HTTP_HOST: '127.0.0.1',
      KC_HTTP_PORT: String(port),
      KC_HTTP_MANAGEMENT_PORT: String(management),
      KC_HOSTNAME_STRICT: 'false',
      KC_LOG_LEVEL: 'warn',
    },
    readyUrl: `http://127.0.0.1:${port}/realms/bench`,
  });
  // The script waits for the Java process that it starts.
  const [pid = started.pid] = childrenOf(started.pid);
  const at = '/realms/bench/protocol/openid-connect';
  return {
    ...fixtures,
    name: 'keycloak',
    pid,
    port,
    lacks: scenarios.filter((name) => !['sign_in_page', 'sign_in', 'sign_in_whole'].includes(name)),
    paths: {
      token: `${at}/token`,
      par: `${at}/ext/par/request`,
      introspect: `${at}/token/introspect`,
      authorize: `${at}/auth`,
      userinfo: `${at}/userinfo`,
      jwks: `${at}/certs`,
      discovery: '/realms/bench/.well-known/openid-configuration',
    },
    session: () => Promise.reject(new Error('the bench signs nobody in at Keycloak beforehand')),
    stop: () => endProcess(started.process),
  };
}
