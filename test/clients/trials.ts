// Every client library and product that has a guide: what it needs on this machine, and what is tried.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Visit } from './browser.js';
import { grantOrders, ordersAreProtected } from './orders.js';
import type { Service } from './service.js';

/** A guide whose application is run. */
export type Trial = {
  /** Of its folder in `examples/clients` and its page in `docs/guides`. */
  readonly name: string;
  readonly title: string;
  /** Without which it can't be run, as paths or names on PATH. */
  readonly programs: readonly string[];
  readonly visit: Visit;
  /** What the guide has created beside the client. */
  readonly prepare?: (service: Service, clientId: string) => Promise<void>;
  /** What is tried beside the person's visit, while the application runs. */
  readonly check?: (service: Service, variables: Readonly<Record<string, string>>) => Promise<void>;
  /** The version that ran, from what was installed. */
  version(directory: string): Promise<string>;
  /** What the run shows, for the table. */
  readonly shows: string;
};

const fromPackage = (name: string) => async (directory: string) =>
  (JSON.parse(await readFile(join(directory, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version;

const found = (pattern: RegExp, ...path: string[]) => async (directory: string) =>
  pattern.exec(await readFile(join(directory, ...path), 'utf8'))?.[1] ?? 'unknown';

/** Of a Debian package. */
const installedPackage = (name: string) => async () =>
  (await promisify(execFile)('dpkg-query', ['--show', '--showformat=${Version}', name])).stdout;

const signInAndOut = 'sign in, name and email address, sign out';

export const trials: readonly Trial[] = [
  {
    name: 'openid-client',
    title: 'openid-client (Node.js)',
    programs: ['npm'],
    visit: { url: 'http://localhost:3001/', signOut: 'provider' },
    version: fromPackage('openid-client'),
    shows: signInAndOut,
  },
  {
    name: 'auth-js',
    title: 'Auth.js',
    programs: ['npm'],
    visit: { url: 'http://localhost:3001/', signOut: 'application' },
    version: fromPackage('@auth/core'),
    shows: 'sign in, name and email address, sign out of the application',
  },
  {
    name: 'authlib',
    title: 'Authlib (Python, Flask)',
    programs: ['python3'],
    visit: { url: 'http://localhost:5000/', signOut: 'provider' },
    version: found(/authlib==(\S+)/i, 'installed.txt'),
    shows: signInAndOut,
  },
  {
    name: 'go-oidc',
    title: 'go-oidc',
    programs: ['go'],
    visit: { url: 'http://localhost:5556/', signOut: 'provider' },
    version: found(/go-oidc\/v3 v(\S+)/, 'go.mod'),
    shows: signInAndOut,
  },
  {
    name: 'spring',
    title: 'Spring Boot',
    programs: ['mvn', 'javac'],
    visit: { url: 'http://localhost:8080/', signOut: 'provider' },
    prepare: grantOrders,
    check: ordersAreProtected,
    version: found(/<artifactId>spring-boot-starter-parent<\/artifactId>\s*<version>(.+?)</, 'pom.xml'),
    shows: `${signInAndOut}; client credentials; an API that checks audience and permissions`,
  },
  {
    name: 'rust-openidconnect',
    title: 'openidconnect (Rust)',
    programs: ['cargo'],
    visit: { url: 'http://localhost:8082/', signOut: 'provider' },
    version: found(/name = "openidconnect"\nversion = "(.+?)"/, 'Cargo.lock'),
    shows: signInAndOut,
  },
  {
    name: 'mozilla-django-oidc',
    title: 'mozilla-django-oidc',
    programs: ['python3'],
    visit: { url: 'http://localhost:8000/', signOut: 'provider' },
    version: found(/mozilla-django-oidc==(\S+)/i, 'installed.txt'),
    shows: signInAndOut,
  },
  {
    name: 'mod-auth-openidc',
    title: 'mod_auth_openidc (Apache)',
    programs: ['apache2', '/usr/lib/apache2/modules/mod_auth_openidc.so'],
    visit: { url: 'http://localhost:8083/', signOut: 'provider' },
    version: installedPackage('libapache2-mod-auth-openidc'),
    shows: signInAndOut,
  },
];
