import { spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Command } from 'commander';
import * as client from 'openid-client';
import { commandLineClient } from '../../lib/command-line-client.js';
import { isLoopbackHost } from '../../lib/redirect-uri.js';
import { CliError, exits, sendTo, readJson } from './api.js';
import { defaultProfile, profilePath } from './credentials.js';
import type { Shell } from './shell.js';
import { visible } from './visible.js';
import { endIn, forgetToken, readStoredToken, writeToken } from './token-store.js';

/** How long somebody has to sign in. */
const patienceMs = 300_000;

type Options = { readonly scope?: string; readonly device?: true; readonly browser: boolean };
type SignInRequest = { readonly resource: string; readonly scope: string };
type Tokens = Awaited<ReturnType<typeof client.authorizationCodeGrant>>;

async function discover(url: string): Promise<client.Configuration> {
  const { hostname, protocol } = new URL(url);
  if (protocol !== 'https:' && !isLoopbackHost(hostname))
    throw new CliError(`${url} is neither https nor on this machine: nobody signs in there`, null, [], exits.usage);
  const response = await sendTo(`${url}/.well-known/openid-configuration`, {});
  const server = (await readJson(response)) as unknown as client.ServerMetadata;
  // What another address says of itself is not believed (OIDC Discovery 4.3).
  if (server.issuer !== url) throw new CliError(`${url} is not the issuer, which is ${String(server.issuer)}: give that as --url`);
  const configuration = new client.Configuration(server, commandLineClient.id, undefined, client.None());
  if (protocol === 'http:') client.allowInsecureRequests(configuration);
  return configuration;
}

/** What the Management API calls itself, and its every permission: the person gets those that they hold (RFC 9728 2). */
async function readResource(url: string): Promise<{ resource: string; scopes: string }> {
  const metadata = await readJson(await sendTo(`${url}/.well-known/oauth-protected-resource/api`, {}));
  return { resource: String(metadata['resource']), scopes: (metadata['scopes_supported'] as string[]).join(' ') };
}

const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

function openBrowser(url: string): void {
  const [program, ...words] = openers[process.platform] ?? ['xdg-open'];
  // Whoever has none opens the address that was printed.
  spawn(program, [...words, url], { detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref();
}

const page = (text: string) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Command line</title><p>${text} You can close this window.</p></html>`;

/** The address to which the browser comes back with the state that was sent; others are turned away and change nothing. */
const comeBack = (server: Server, state: string): Promise<URL> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new CliError('nobody signed in within five minutes')), patienceMs);
    server.on('close', () => clearTimeout(timer));
    server.on('request', (request, response) => {
      const { port } = server.address() as AddressInfo;
      // Any page and program of the machine reaches this port, with whatever it likes.
      const address = `http://127.0.0.1:${port}${request.url}`;
      const url = request.method === 'GET' && URL.canParse(address) ? new URL(address) : null;
      const isAnswer = url?.pathname === '/callback' && url.searchParams.get('state') === state;
      const text = page(isAnswer ? 'The command line goes on.' : 'This is not what was asked for.');
      response.writeHead(isAnswer ? 200 : 400, { 'content-type': 'text/html', 'cache-control': 'no-store', connection: 'close' }).end(text);
      if (isAnswer) resolve(url);
    });
  });

async function byBrowser(configuration: client.Configuration, requested: SignInRequest, { print }: Shell, given: Options): Promise<Tokens> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const redirect = new URL(commandLineClient.redirectUri);
    redirect.port = String(port);
    const [pkceCodeVerifier, expectedState] = [client.randomPKCECodeVerifier(), client.randomState()];
    const address = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirect.href,
      ...requested,
      state: expectedState,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    });
    print(`Sign in at ${address.href}`);
    if (given.browser) openBrowser(address.href);
    const answer = await comeBack(server, expectedState);
    return await client.authorizationCodeGrant(configuration, answer, { pkceCodeVerifier, expectedState });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function byDevice(configuration: client.Configuration, requested: SignInRequest, { print }: Shell): Promise<Tokens> {
  const started = await client.initiateDeviceAuthorization(configuration, requested);
  print(visible(`Open ${started.verification_uri} on any device and type ${started.user_code}`));
  return client.pollDeviceAuthorizationGrant(configuration, started);
}

/** What the service refused, in its own words. */
function refusalOf(error: unknown): unknown {
  if (error instanceof client.ResponseBodyError || error instanceof client.AuthorizationResponseError)
    return new CliError(`${error.error}: ${error.error_description ?? 'refused'}`);
  return error instanceof client.ClientError ? new CliError(`the answer can not be trusted: ${error.message}`) : error;
}

async function signIn(shell: Shell, program: Command, given: Options): Promise<void> {
  const { url, profile = defaultProfile } = program.opts<{ url: string; profile?: string }>();
  const path = profilePath(shell.variables, profile);
  if (path === null)
    throw new CliError('there is no home directory to remember the sign-in in: set XDG_CONFIG_HOME', null, [], exits.usage);
  const configuration = await discover(url);
  const { resource, scopes } = await readResource(url);
  const scope = given.scope ?? scopes;
  const sign = given.device ? byDevice : byBrowser;
  const tokens = await sign(configuration, { resource, scope }, shell, given).catch((error: unknown) => {
    throw refusalOf(error);
  });
  const { access_token, refresh_token, expires_in = 0, scope: granted = scope } = tokens;
  const expires_at = endIn(expires_in);
  writeToken(path, { url, access_token, expires_at, ...(refresh_token === undefined ? {} : { refresh_token }) });
  const count = granted.split(' ').filter(Boolean).length;
  shell.print(`Signed in at ${url} as profile ${profile}, with ${count === 1 ? '1 permission' : `${count} permissions`}`);
}

/** Ends what the sign-in was given (RFC 7009), and forgets it even where the service is gone. */
async function signOut(shell: Shell, program: Command): Promise<void> {
  const { profile = defaultProfile } = program.opts<{ profile?: string }>();
  const path = profilePath(shell.variables, profile);
  const stored = path === null ? null : readStoredToken(path);
  if (path === null || stored === null) throw new CliError(`nobody is signed in as ${profile}`);
  forgetToken(path);
  const { url, refresh_token, access_token } = stored;
  const response = await sendTo(`${url}/oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: commandLineClient.id, token: refresh_token ?? access_token }),
  });
  if (!response.ok) throw new CliError(`${url} did not end the sign-in: ${response.status}`, response.status);
  shell.print(`Signed out of ${url}`);
}

export function addLogin(command: Command, shell: Shell): void {
  command
    .option('--device', 'type a code in a browser elsewhere (RFC 8628)')
    .option('--no-browser', 'only print the address')
    .option('--scope <permissions>', 'permissions with spaces between them; all that you hold unless given')
    .action((given: Options) => signIn(shell, command.parent as Command, given));
}

export function addLogout(command: Command, shell: Shell): void {
  command.action(() => signOut(shell, command.parent as Command));
}
