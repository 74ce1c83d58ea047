// npm run test:clients [-- name ...]: runs the guides' applications against the built service, each with a browser, and writes the table of
// docs/guides/README.md. What is downloaded stays in .clients/, so that a second run is fast.
import { accessSync, constants } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { Browser } from 'playwright-core';
import { launchChromium } from '../support/chromium.js';
import { runCommand, startApplication } from './application.js';
import { allowDevice, open, visit } from './browser.js';
import { startService, type Scheme, type Service } from './service.js';
import { writeResults, type Result } from './table.js';
import type { Trial } from './trial.js';
import { trials } from './trials.js';

const cache = resolve('.clients');

function isInstalled(program: string): boolean {
  const directories = isAbsolute(program) ? [''] : [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  return directories.some((directory) => {
    try {
      accessSync(join(directory, program), isAbsolute(program) ? constants.R_OK : constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function attempt(service: Service, browser: Browser, trial: Trial): Promise<Result> {
  const { name, url } = trial;
  const absent = trial.programs.find((program) => !isInstalled(program));
  if (absent !== undefined) return { name, outcome: 'skipped', note: `${absent} is not installed`, version: '' };
  const document = JSON.parse(await readFile(join('examples/clients', name, 'client.json'), 'utf8')) as unknown;
  const { id, attributes } = await service.create('/clients', document);
  await trial.prepare?.(service, id);
  const variables = {
    ISSUER: service.issuer,
    CLIENT_ID: id,
    CLIENT_SECRET: String(attributes['client_secret']),
    CERTIFICATE: service.certificate ?? '',
  };
  if (url === null) {
    const directory = await runCommand(name, cache, variables, (address) =>
      trial.typesCode ? allowDevice(browser, address) : open(browser, address),
    );
    return { name, outcome: 'passed', note: '', version: await trial.version(directory) };
  }
  const application = await startApplication(name, url, cache, variables);
  try {
    if (trial.visit) await visit(browser, service.issuer, url, trial.visit, id);
    await trial.check?.(service, variables);
    return { name, outcome: 'passed', note: '', version: await trial.version(application.directory) };
  } finally {
    await application.stop();
  }
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !trials.some((trial) => trial.name === name));
  if (unknown.length > 0) throw new Error(`there is no ${unknown.join(', ')}; there are ${trials.map(({ name }) => name).join(', ')}`);
  await mkdir(cache, { recursive: true });
  const services: Partial<Record<Scheme, Service>> = {};
  const browser = await launchChromium();
  const results: Result[] = [];
  try {
    for (const trial of trials.filter(({ name }) => names.length === 0 || names.includes(name))) {
      const began = performance.now();
      const service = (services[trial.scheme ?? 'http'] ??= await startService(cache, trial.scheme ?? 'http'));
      const result = await attempt(service, browser, trial).catch((error: unknown): Result => ({
        name: trial.name,
        outcome: 'failed',
        note: String(error),
        version: '',
      }));
      results.push(result);
      const seconds = ((performance.now() - began) / 1000).toFixed(0);
      console.log(`${result.outcome} ${result.name} ${result.version} (${seconds} s) ${result.note}`);
    }
  } finally {
    await browser.close();
    for (const service of Object.values(services)) await service.stop();
  }
  // A check leaves the pages as they are.
  if (!process.env['CI']) await writeResults(results);
  const count = (outcome: Result['outcome']) => results.filter((result) => result.outcome === outcome).length;
  console.log(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`);
  return count('failed');
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.exitCode = (await main(process.argv.slice(2))) === 0 ? 0 : 1;
