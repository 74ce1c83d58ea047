import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../../lib/package-root.js';
import { defaultContext } from '../../domain/configuration/bootstrap.js';
import { requireFreeAddress } from '../../process/listen.js';
import { runProgram } from '../../process/run.js';
import { prepare, serve, type ShutdownHooks } from '../../process/startup.js';
import { ensureDemoAdministrator, ensureDemoData } from './data.js';

/** Starts the example application and waits until it listens. */
async function startApp(variables: Readonly<Record<string, string>>, stops: ShutdownHooks): Promise<void> {
  const app = spawn(process.execPath, [join(packageRoot, 'examples', 'web-app', 'server.js')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: variables,
  });
  const ended = once(app, 'exit');
  stops.add(async () => {
    app.kill('SIGTERM');
    await ended;
  });
  const failed = ended.then(() => Promise.reject(new Error('the example application has ended; its message is above')));
  await Promise.race([once(app.stdout, 'data'), failed]);
  // It may end from now on.
  failed.catch(() => undefined);
}

/** Starts the service with demo data and an administrator, and the example application; prints whom to sign in as. */
export function showDemo(appPort: number): void {
  runProgram(async (config, logger, stops) => {
    await requireFreeAddress({ host: '0.0.0.0', port: appPort, choose: 'npm run demo -- --app-port ' });
    const prepared = await prepare(config, logger, stops);
    const ctx = await defaultContext(prepared.deps);
    const appUrl = `http://localhost:${appPort}`;
    // Who is made here is printed below.
    const { level } = logger;
    logger.level = 'error';
    const { user, web } = await ensureDemoData(ctx, appUrl);
    const administrator = config.admin ?? (await ensureDemoAdministrator(ctx));
    logger.level = level;
    await serve(prepared, stops);
    const { client_id: CLIENT_ID, client_secret: CLIENT_SECRET } = web;
    await startApp({ ISSUER: config.baseUrl, CLIENT_ID, CLIENT_SECRET, APP_URL: appUrl }, stops);
    const signIns = [
      ['Example application', appUrl, user.email, user.password],
      ['Dashboard', `${config.baseUrl}/dashboard`, administrator.email, config.admin ? 'as in ADMIN_PASSWORD' : administrator.password],
    ];
    const lines = signIns.map(([name, url, email, password]) => `  ${name}  ${url}\n    sign in as ${email}, password ${password}\n`);
    process.stdout.write(`\n${lines.join('\n')}\n`);
  });
}
