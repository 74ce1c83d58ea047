import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ensureDemoData, type DemoData } from '../../src/programs/demo/data.js';
import { freePort, type TestService } from './service.js';
import { shared } from './shared-service.js';

/** The application of `examples/web-app`, as a client of the service under test. */
export type ExampleApp = { readonly url: string; readonly data: DemoData; stop(): void };

/** Registers the example application and starts it as a process of its own; resolves when it listens. */
export async function startExampleApp(service: TestService): Promise<ExampleApp> {
  const url = `http://localhost:${await freePort()}`;
  const data = await ensureDemoData(await service.context(), url);
  const { client_id, client_secret } = data.web;
  const app = spawn(process.execPath, ['examples/web-app/server.js'], {
    env: { PATH: process.env['PATH'], ISSUER: service.url, CLIENT_ID: client_id, CLIENT_SECRET: client_secret, APP_URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(app.stdout, 'data');
  return { url, data, stop: () => void app.kill('SIGTERM') };
}

/** The same for all tests of a file. */
export const sharedExampleApp = (service: TestService): ExampleApp =>
  shared(
    () => startExampleApp(service),
    (app) => app.stop(),
  );
