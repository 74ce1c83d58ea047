/** A client that may have people's tokens at a real provider. */
import { afterAll, beforeAll } from 'vitest';
import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { insertProviderGrant, type ProviderGrantRow } from '../../src/db/tables/provider_grants.js';
import type { IdentityRow } from '../../src/db/tables/identities.js';
import { keepProviderToken, type ProviderTokenRow } from '../../src/db/tables/provider_tokens.js';
import type { UserRow } from '../../src/db/tables/users.js';
import type { Context } from '../../src/domain/context.js';
import { openTokens, sealTokens } from '../../src/domain/provider-tokens/tokens.js';
import { accessTokenType, tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { uuidv7 } from '../../src/lib/random.js';
import { signInToApp } from './assertions.js';
import type { Browser } from './browser.js';
import { addConnection, providerSecret } from './connections.js';
import { addClient, addUser, type TestClient } from './data.js';
import { tokenRequest, type TokenAnswer } from './oauth.js';
import type { TestService } from './service.js';
import { throughProvider } from './sso.js';
import { startUpstreamOidc, type UpstreamOidc } from './upstream-oidc.js';

export type Vault = {
  readonly ctx: Context;
  readonly upstream: UpstreamOidc;
  readonly connection: ConnectionRow;
  /** First-party, and one of its redirect URIs is `https://app.example/cb`. */
  readonly app: TestClient;
  readonly grant: ProviderGrantRow;
};

export const redirectUri = 'https://app.example/cb';

export async function addProviderGrant(
  ctx: Context,
  client_id: string,
  connection_id: string,
  scopes: string[] = ['calendar'],
): Promise<ProviderGrantRow> {
  const now = ctx.clock.now();
  return insertProviderGrant(ctx.scope, { id: uuidv7(now.getTime()), client_id, connection_id, scopes, created_at: now, updated_at: now });
}

/** Makes it in a service of the file. Members are there from the first test on. */
export function sharedVault(service: TestService): Vault {
  const vault = {} as { -readonly [Name in keyof Vault]: Vault[Name] };
  beforeAll(async () => {
    const ctx = await service.context();
    const account = { sub: 'nobody', email: 'nobody@corp.example', email_verified: true };
    const upstream = await startUpstreamOidc({ callback: `${service.url}/auth/sso/callback`, account });
    const connection = await addConnection(ctx, { issuer: upstream.issuer, token_storage: true });
    const app = await addClient(ctx, { grant_types: ['authorization_code', 'refresh_token', tokenExchangeGrantType] });
    const grant = await addProviderGrant(ctx, app.id, connection.id);
    Object.assign(vault, { ctx, upstream, connection, app, grant });
  });
  afterAll(() => vault.upstream?.close());
  return vault;
}

export const accessAddress = ({ app, connection }: Pick<Vault, 'app' | 'connection'>, fields: Record<string, string> = {}): string =>
  `/account/provider_access?${new URLSearchParams({ client_id: app.id, connection: connection.id, scope: 'calendar', return_to: redirectUri, ...fields })}`;

/** Somebody signed in to the application, who has an account of their own at the provider. */
export async function addPerson(service: TestService, { ctx, app }: Pick<Vault, 'ctx' | 'app'>) {
  const user = await addUser(ctx);
  return { user, ...(await signInToApp(service, { app, user })) };
}

/** Opens the page of the address, allows, and comes back from the provider; the answer is that of the callback. */
export async function allowAccess(
  browser: Browser,
  vault: Pick<Vault, 'upstream'>,
  user: Pick<UserRow, 'id'>,
  address: string,
): Promise<Response> {
  vault.upstream.account = { sub: `sub of ${user.id}`, email: `${user.id}@corp.example`, email_verified: true };
  const page = await browser.get(address);
  const html = await page.text();
  if (page.status !== 200)
    throw new Error(`no page: ${page.status} ${page.headers.get('location')} ${html.replaceAll(/<[^>]+>/g, ' ').slice(0, 900)}`);
  const [form = ''] = /<form id="provider-access"[^]*?<\/form>/.exec(html) ?? [];
  const inputs = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)];
  const left = await browser.post(
    '/account/provider_access',
    Object.fromEntries(inputs.map(([, name, value]) => [name as string, value as string])),
  );
  const refresh = left.headers.get('refresh');
  if (refresh === null) throw new Error(`not led on: ${left.status} ${await left.text()}`);
  const back = await throughProvider(new URL(refresh.replace('0; url=', '')));
  return browser.get(back.pathname + back.search);
}

/** Asks for the person's token at the provider. */
export const exchange = (
  { url }: Pick<TestService, 'url'>,
  { app, connection }: Pick<Vault, 'app' | 'connection'>,
  fields: Record<string, string>,
  client: TestClient = app,
): Promise<TokenAnswer> =>
  tokenRequest(url, client, {
    grant_type: tokenExchangeGrantType,
    subject_token_type: accessTokenType,
    connection: connection.id,
    ...fields,
  });

export const tokensOf = (ctx: Context, user: Pick<UserRow, 'id'>): Promise<ProviderTokenRow[]> =>
  ctx.db.knex('provider_tokens').where({ user_id: user.id }).orderBy('granted_at') as unknown as Promise<ProviderTokenRow[]>;

/** Lets the access token of the person expire within the minute. */
export async function expire({ ctx }: Pick<Vault, 'ctx'>, user: Pick<UserRow, 'id'>): Promise<void> {
  await ctx.db
    .knex('provider_tokens')
    .where({ user_id: user.id })
    .update({ expires_at: new Date(ctx.clock.now().getTime() + 59_000) });
}

export const openedOf = (ctx: Context, { id, tokens_sealed }: ProviderTokenRow) => tokens_sealed && openTokens(ctx, id, tokens_sealed);

/** Whether the provider takes the token still (RFC 7662). */
export async function isLiveThere({ upstream }: Pick<Vault, 'upstream'>, token: string): Promise<boolean> {
  const answer = await fetch(`${upstream.issuer}/token/introspection`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`the-service:${encodeURIComponent(providerSecret)}`).toString('base64')}` },
    body: new URLSearchParams({ token }),
  });
  return ((await answer.json()) as { active: boolean }).active;
}

export const asksOf = ({ upstream }: Pick<Vault, 'upstream'>, path = '/token'): number =>
  upstream.requests.filter((one) => one === `POST ${path}`).length;

/** Ends a token at the provider, as its person may there (RFC 7009). */
export async function revokeThere({ upstream }: Pick<Vault, 'upstream'>, token: string): Promise<void> {
  const answer = await fetch(`${upstream.issuer}/token/revocation`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`the-service:${encodeURIComponent(providerSecret)}`).toString('base64')}` },
    body: new URLSearchParams({ token }),
  });
  if (!answer.ok) throw new Error(`not revoked: ${answer.status} ${await answer.text()}`);
}

/** A kept token of an account, as if the provider had given it. */
export async function addProviderToken(
  ctx: Context,
  { identity, client_id }: { identity: Pick<IdentityRow, 'id' | 'user_id' | 'connection_id'>; client_id: string },
): Promise<string> {
  const now = ctx.clock.now();
  const id = uuidv7(now.getTime());
  const { id: identity_id, user_id, connection_id } = identity;
  const kept = await keepProviderToken(ctx.scope, {
    id, identity_id, user_id, client_id, connection_id, scopes: ['calendar'], expires_at: null, token_endpoint: 'https://idp.example/token',
    revocation_endpoint: null, auth_method: 'client_secret_basic', tokens_sealed: sealTokens(ctx, id, { access_token: 'a', refresh_token: 'r' }), now, widens: true,
  }); // prettier-ignore
  if (!kept) throw new Error('the client has no grant');
  return id;
}
