import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Command } from 'commander';
import { commandLineClient } from '../../lib/command-line-client.js';
import { msUntil } from '../../platform/clock.js';
import { CliError, exits, sendTo, readJson, type Access } from './api.js';
import { endIn, forgetToken, readStoredToken, storeOf, writeToken, type StoredToken } from './token-store.js';

type Variables = Readonly<NodeJS.ProcessEnv>;

/** The options of the program that say where the service is, and as whom it is called. */
type Given = { readonly url: string; readonly clientId?: string; readonly clientSecret?: string; readonly profile?: string };

/** How long before its end a token counts as over. */
const marginMs = 30_000;

const isLive = (token: StoredToken | null, url: string): token is StoredToken =>
  token?.url === url && msUntil(new Date(token.expires_at)) > marginMs;

/** A token of the token endpoint's answer. */
const tokenIn = (url: string, body: Record<string, unknown>): StoredToken => ({
  url,
  access_token: String(body['access_token']),
  expires_at: endIn(Number(body['expires_in'] ?? 0)),
  ...(typeof body['refresh_token'] === 'string' ? { refresh_token: body['refresh_token'] } : {}),
});

/** @throws {CliError} when the token endpoint refuses */
async function requestToken(url: string, fields: Record<string, string>, authorization?: string): Promise<StoredToken> {
  const response = await sendTo(`${url}/oauth/token`, {
    method: 'POST',
    headers: { ...(authorization === undefined ? {} : { authorization }), 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
  const body = await readJson(response);
  if (response.ok) return tokenIn(url, body);
  throw new CliError(`no access token: ${String(body['error'])}: ${String(body['error_description'])}`, response.status);
}

/** A client's own token: that of an earlier command while it lasts. */
export function clientAccess(url: string, id: string, secret: string, variables: Variables): Access {
  const store = storeOf(variables);
  const name = createHash('sha256')
    .update(JSON.stringify([url, id, secret]))
    .digest('hex');
  const path = store && join(store, 'tokens', `${name}.json`);
  return {
    url,
    async token(renew) {
      const known = path && !renew ? readStoredToken(path) : null;
      if (isLive(known, url)) return known.access_token;
      const authorization = `Basic ${Buffer.from([id, secret].map(encodeURIComponent).join(':')).toString('base64')}`;
      const token = await requestToken(url, { grant_type: 'client_credentials', resource: `${url}/api` }, authorization);
      if (path) writeToken(path, token);
      return token.access_token;
    },
  };
}

export const defaultProfile = 'default';

/** The file of a profile. @throws {CliError} for a name that is none */
export function profilePath(variables: Variables, profile: string): string | null {
  if (!/^\w[\w.-]{0,63}$/.test(profile)) throw new CliError(`${profile} is no name of a profile`, null, [], exits.usage);
  const store = storeOf(variables);
  return store && join(store, 'profiles', `${profile}.json`);
}

const signIn = (profile: string) => `run: idp login${profile === defaultProfile ? '' : ` --profile ${profile}`}`;

/** A person's token, renewed by the refresh token. It goes nowhere but where it came from. */
function profileAccess(path: string, profile: string, stored: StoredToken): Access {
  const { url } = stored;
  return {
    url,
    async token(renew) {
      const known = readStoredToken(path);
      if (!renew && isLive(known, url)) return known.access_token;
      if (!known?.refresh_token) throw new CliError(`the sign-in of ${profile} is over; ${signIn(profile)}`);
      const { refresh_token } = known;
      const fields = { grant_type: 'refresh_token', client_id: commandLineClient.id, refresh_token };
      const token = await requestToken(url, fields).catch((error: unknown) => {
        if (!(error instanceof CliError) || error.exit === exits.unreachable) throw error;
        forgetToken(path);
        throw new CliError(`${error.message}; ${signIn(profile)}`, error.status);
      });
      writeToken(path, { refresh_token, ...token });
      return token.access_token;
    },
  };
}

/**
 * As whom a command calls: the client that its options name, else the token of `IDP_TOKEN`, else the profile that is named, else the client that
 * the environment names, else the default profile. A profile brings its address along.
 * @throws {CliError | CommanderError} when a part of a client is missing, or nobody is named or signed in
 */
export function accessOf(program: Command, variables: Variables): Access {
  const { url, clientId, clientSecret, profile = defaultProfile } = program.opts<Given>();
  const asClient = () =>
    clientId === undefined || clientSecret === undefined
      ? program.error(
          clientId === undefined
            ? `error: required option '--client-id <id>' not specified: name a client, set IDP_TOKEN, or sign in (idp login)`
            : `error: required option '--client-secret <secret>' not specified`,
        )
      : clientAccess(url, clientId, clientSecret, variables);
  const [isClient, isProfile] = [program.getOptionValueSource('clientId') === 'cli', program.getOptionValueSource('profile') !== undefined];
  const token = variables['IDP_TOKEN'];
  if (!isClient && token) return { url, token: () => Promise.resolve(token) };
  if (isClient || (clientId !== undefined && !isProfile)) return asClient();
  const path = profilePath(variables, profile);
  const stored = path === null ? null : readStoredToken(path);
  if (path === null || stored === null) {
    if (isProfile) throw new CliError(`nobody is signed in as ${profile}; ${signIn(profile)}`, null, [], exits.usage);
    return asClient();
  }
  if (program.getOptionValueSource('url') !== 'default' && stored.url !== url)
    throw new CliError(`the sign-in of ${profile} is at ${stored.url}, not at ${url}`, null, [], exits.usage);
  return profileAccess(path, profile, stored);
}
