// The service as a process: without a collector of traces, with one that hangs, and with one that its packages are missing for.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { startCollector } from '../support/collector.js';
import { programArguments } from '../support/compiled.js';
import { createTestDatabase } from '../support/database.js';
import { noteModules, type LoadedModules } from '../support/loaded-modules.js';
import { managementClient } from '../support/management.js';
import { oauthPost } from '../support/oauth.js';
import { freePort } from '../support/service.js';
import { eventually } from '../support/webhooks.js';
import { directoryOfFile } from '../support/temporary-directory.js';
import { shared } from '../support/shared-service.js';

// A shared machine takes its time to start processes.
vi.setConfig({ testTimeout: 150_000 });

const directory = directoryOfFile();
const secretKey = randomBytes(32).toString('base64');
let child: ChildProcess | null = null;

const database = shared(
  () => createTestDatabase(),
  (made) => made.drop(),
);

afterEach(() => {
  child?.kill('SIGKILL');
  child = null;
});

async function start(environment: Record<string, string>, options: readonly string[] = []) {
  const port = await freePort();
  child = spawn(process.execPath, [...options, ...(await programArguments('main'))], {
    env: {
      PATH: process.env['PATH'],
      PORT: String(port),
      DATABASE_URL: database.url,
      SECRET_KEY: secretKey,
      RATE_LIMITS: 'off',
      LOG_FORMAT: 'json',
      MANAGEMENT_CLIENT_ID: managementClient.id,
      MANAGEMENT_CLIENT_SECRET: managementClient.client_secret,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  await eventually(async () => output.includes('service.ready'), 90_000, 50);
  const url = `http://localhost:${port}`;
  const ask = () => oauthPost(url, '/oauth/token', managementClient, { grant_type: 'client_credentials', resource: `${url}/api` });
  return { url, ask, lines: () => output.trimEnd().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>) }; // prettier-ignore
}

/** Ends the process as a platform does. @returns its code, and how long it took, in milliseconds */
async function end(): Promise<{ code: number | null; ms: number }> {
  const began = performance.now();
  child?.kill('SIGTERM');
  const [code] = (await once(child as ChildProcess, 'exit')) as [number | null];
  return { code, ms: performance.now() - began };
}

const ofTelemetry = (modules: LoadedModules) => modules.names().filter((name) => name.includes('@opentelemetry'));

test('without a collector nothing of OpenTelemetry is loaded, whatever is asked (specification 15.5.2)', async () => {
  const modules = noteModules();
  const { url, ask } = await start({}, modules.options);
  expect((await ask()).status).toBe(200);
  for (const path of ['/login', '/metrics', '/api/users', '/dashboard', '/readyz']) await fetch(`${url}${path}`, { redirect: 'manual' });
  expect((await end()).code).toBe(0);
  expect(modules.names().some((name) => name.includes('node_modules/prom-client'))).toBe(true);
  expect(ofTelemetry(modules)).toEqual([]);
  modules.remove();
});

test('with a collector that hangs no request waits, and the process ends in time (attack 35.772)', async () => {
  const collector = await startCollector('hang');
  const modules = noteModules();
  const { url, ask, lines } = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' }, modules.options);
  const took: number[] = [];
  for (let round = 0; round < 70; round++) {
    const began = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, ask));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    took.push(performance.now() - began);
  }
  // The collector's own time-out is ten seconds.
  expect(Math.max(...took)).toBeLessThan(5_000);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  // On a fast machine they find no room, on a slow one the library gives a batch up meanwhile.
  const outcomes = [...metrics.matchAll(/^otel_spans_total\{outcome="(\w+)"\} (\d+)$/gm)].map(([, outcome, count]) => [
    outcome,
    Number(count) > 0,
  ]);
  expect(outcomes.length).toBeGreaterThan(0);
  for (const [outcome, some] of outcomes) expect([['dropped', 'refused'].includes(String(outcome)), some]).toEqual([true, true]);
  expect(collector.headers.length).toBeGreaterThan(0);
  const { code, ms } = await end();
  expect(code).toBe(0);
  expect(ms).toBeLessThan(8_000);
  expect(ofTelemetry(modules).length).toBeGreaterThan(10);
  modules.remove();
  const requests = lines().filter(({ event }) => event === 'http.request');
  expect(requests.filter(({ trace_id }) => /^[0-9a-f]{32}$/.test(String(trace_id))).length).toBe(1_400);
  await collector.close();
});

test('a collector that is named while the packages are missing ends the start, and says what to do (specification 15.5.1)', async () => {
  const main = (await programArguments('main')).at(-1) as string;
  const project = join(directory, 'bare');
  mkdirSync(join(project, 'node_modules'), { recursive: true });
  cpSync(dirname(main), join(project, 'dist'), { recursive: true });
  for (const name of ['package.json', 'data', 'views']) symlinkSync(resolve(name), join(project, name));
  for (const name of readdirSync('node_modules').filter((one) => one !== '@opentelemetry'))
    symlinkSync(resolve('node_modules', name), join(project, 'node_modules', name));
  const bare = spawn(process.execPath, [join(project, 'dist/main.js')], {
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: database.url,
      SECRET_KEY: secretKey,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  bare.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = (await once(bare, 'close')) as [number];
  expect(code).toBe(78);
  expect(said).toContain('OTEL_EXPORTER_OTLP_ENDPOINT needs optional dependencies that aren’t installed'.replace('’', "'"));
  expect(said).toContain('npm ci without --omit=optional');
});
