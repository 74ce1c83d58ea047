import { endProcess, fixtures, startServer, type ServerOptions, type Target } from './target.js';

/** Starts the bare handler on an empty database. */
export async function startCeiling(options: ServerOptions): Promise<Target> {
  const started = await startServer('ceiling-server.ts', options);
  let sessions = 0;
  return {
    ...fixtures,
    name: 'ceiling',
    pid: started.pid,
    port: started.port,
    // What they add to others is measured against those of the product itself; it checks no proofs.
    lacks: ['cc_jwt_es256', 'cc_jwt_eddsa', 'cc_jwt_dpop', 'code_par', 'device_poll', 'sign_in_page', 'sign_in', 'session', 'consent'],
    paths: {
      token: '/token',
      par: '/par',
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
