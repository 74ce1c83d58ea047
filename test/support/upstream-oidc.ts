/** A real OpenID Connect provider (`oidc-provider`) on loopback, as the other end of a connection. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider, type Configuration } from 'oidc-provider';
import { providerSecret } from './connections.js';

export type UpstreamAccount = { sub: string } & Record<string, unknown>;

export type UpstreamOidc = {
  readonly issuer: string;
  /** Who signs in there next. */
  account: UpstreamAccount;
  /** Whether a sign-in gives a refresh token, without the person's being asked (OIDC Core 11). */
  isLasting: boolean;
  /** Runs before its token endpoint answers. */
  beforeToken: (() => Promise<void>) | null;
  /** Paths that were asked for. */
  readonly requests: string[];
  close(): Promise<void>;
};

async function signingKey() {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256' };
}

/** Scopes of its own API. */
const apiScopes = ['calendar', 'files'];

const configuration = (callback: string, current: () => UpstreamAccount, isLasting: () => boolean, key: object): Configuration => ({
  clients: [
    {
      client_id: 'the-service',
      client_secret: providerSecret,
      redirect_uris: [callback],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'given_name', 'family_name', 'picture', 'locale'] },
  cookies: { keys: ['a key for cookies'] },
  features: { devInteractions: { enabled: false }, revocation: { enabled: true }, introspection: { enabled: true } },
  issueRefreshToken: async (_ctx, _client, code) => code.scopes.has('offline_access') || isLasting(),
  scopes: ['openid', 'offline_access', 'email', 'profile', ...apiScopes],
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ ...current(), sub: id }) }),
  interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
  jwks: { keys: [key as never] },
  pkce: { required: () => true },
  async loadExistingGrant(ctx) {
    const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client!.clientId, accountId: ctx.oidc.session!.accountId as string });
    grant.addOIDCScope(['openid offline_access email profile', ...apiScopes].join(' '));
    await grant.save();
    return grant;
  },
});

/** Starts one; on a given port (to start it again with other keys), else on a free one. Its login page is one button. */
export async function startUpstreamOidc(options: { callback: string; account: UpstreamAccount; port?: number }): Promise<UpstreamOidc> {
  let provider: Provider | null = null;
  const requests: string[] = [];
  const upstream: Pick<UpstreamOidc, 'account' | 'isLasting' | 'beforeToken'> = {
    account: options.account,
    isLasting: false,
    beforeToken: null,
  };
  const answer = async (req: IncomingMessage, res: ServerResponse) => {
    if (!provider) return;
    requests.push(`${req.method} ${req.url}`);
    if (req.url === '/token') await upstream.beforeToken?.();
    if (!req.url?.startsWith('/interaction/')) return void provider.callback()(req, res);
    if (req.method === 'POST') {
      await provider.interactionFinished(
        req,
        res,
        { login: { accountId: upstream.account.sub }, consent: {} },
        { mergeWithLastSubmission: false },
      );
      return;
    }
    const { params } = await provider.interactionDetails(req, res);
    res.setHeader('content-type', 'text/html');
    res.end(
      `<!doctype html><title>Upstream</title><h1>Upstream</h1><p id="hint">${typeof params['login_hint'] === 'string' ? params['login_hint'] : ''}</p><form method="post"><button>Sign in</button></form>`,
    );
  };
  const server: Server = createServer((req, res) => {
    answer(req, res).catch((error: unknown) => {
      res.statusCode = 500;
      res.end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  provider = new Provider(
    issuer,
    configuration(
      options.callback,
      () => upstream.account,
      () => upstream.isLasting,
      await signingKey(),
    ),
  );
  return Object.assign(upstream, {
    issuer,
    requests,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}
