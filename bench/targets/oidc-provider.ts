import { fileURLToPath } from 'node:url';
import { endProcess, fixtures, freePort, startProcess, type Target } from './target.js';

const server = fileURLToPath(new URL('./oidc-provider-server.ts', import.meta.url));

/** Starts oidc-provider on an empty database. */
export async function startOidcProvider(options: { databaseUrl: string; processors: string; log: number }): Promise<Target> {
  const port = await freePort();
  const started = await startProcess([process.execPath, '--import', 'tsx', server], {
    processors: options.processors,
    env: { PORT: String(port), DATABASE_URL: options.databaseUrl },
    readyUrl: `http://127.0.0.1:${port}/jwks`,
    log: options.log,
  });
  return {
    ...fixtures,
    name: 'oidc-provider',
    pid: started.pid,
    port,
    // It can't look up a token that it doesn't store.
    lacks: ['introspect_jwt'],
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
      const response = await fetch(`http://127.0.0.1:${port}/bench-session`);
      const text = await response.text();
      if (response.status !== 200) throw new Error(text);
      return text;
    },
    stop: () => endProcess(started.process),
  };
}
