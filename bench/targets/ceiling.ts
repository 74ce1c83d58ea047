import { fileURLToPath } from 'node:url';
import { endProcess, fixtures, freePort, startProcess, type Target } from './target.js';

const server = fileURLToPath(new URL('./ceiling-server.ts', import.meta.url));

/** Starts the bare handler on an empty database. */
export async function startCeiling(options: { databaseUrl: string; processors: string; log: number }): Promise<Target> {
  const port = await freePort();
  const started = await startProcess([process.execPath, '--import', 'tsx', server], {
    processors: options.processors,
    env: { PORT: String(port), DATABASE_URL: options.databaseUrl },
    readyUrl: `http://127.0.0.1:${port}/jwks`,
    log: options.log,
  });
  let sessions = 0;
  return {
    ...fixtures,
    name: 'ceiling',
    pid: started.pid,
    port,
    // It checks no proofs.
    lacks: ['cc_jwt_dpop'],
    paths: {
      token: '/token',
      introspect: '/introspect',
      authorize: '/authorize',
      userinfo: '/userinfo',
      jwks: '/jwks',
      discovery: '/discovery',
    },
    session: async () => `session=session-${(sessions++ % 256) + 1}`,
    stop: () => endProcess(started.process),
  };
}
