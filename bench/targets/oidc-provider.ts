import { endProcess, fixtures, startServer, type ServerOptions, type Target } from './target.js';

/** Starts oidc-provider on an empty database. */
export async function startOidcProvider(options: ServerOptions): Promise<Target> {
  const started = await startServer('oidc-provider-server.ts', options);
  return {
    ...fixtures,
    name: 'oidc-provider',
    pid: started.pid,
    port: started.port,
    // It can't look up a token that it doesn't store.
    lacks: ['introspect_jwt', 'device_poll'],
    paths: {
      token: '/token',
      par: '/request',
      introspect: '/token/introspection',
      authorize: '/auth',
      userinfo: '/me',
      jwks: '/jwks',
      discovery: '/.well-known/openid-configuration',
    },
    async session() {
      const response = await fetch(`http://127.0.0.1:${started.port}/bench-session`);
      const text = await response.text();
      if (response.status !== 200) throw new Error(text);
      return text;
    },
    stop: () => endProcess(started.process),
  };
}
