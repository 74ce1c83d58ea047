import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../../lib/package-root.js';
import { defaultContext } from '../../domain/environments/bootstrap.js';
import { demoAppUrl, ensureDemoData } from './data.js';
import { runProgram } from '../../process/run.js';
import { startAll } from '../../process/startup.js';

/** Starts the service with demo data, and the example application beside it. */
export function showDemo(): void {
  runProgram(async (config, logger, stops) => {
    const service = await startAll(config, logger, stops);
    const data = await ensureDemoData(await defaultContext(service.deps));
    const app = spawn(process.execPath, [join(packageRoot, 'examples', 'web-app', 'server.js')], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ISSUER: config.baseUrl,
        CLIENT_ID: data.web.client_id,
        CLIENT_SECRET: data.web.client_secret,
        APP_URL: demoAppUrl,
      },
    });
    const ended = once(app, 'exit');
    stops.add(async () => {
      app.kill('SIGTERM');
      await ended;
    });
    process.stdout.write(`\nOpen ${demoAppUrl} and sign in as ${data.user.email} with the password ${data.user.password}\n\n`);
  });
}
