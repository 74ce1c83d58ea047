// The examples of the API reference, as readers paste them: curl, TypeScript and the command line, against the service.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { referenceModel } from '../../src/management/reference/model.js';
import type { OpenApiDocument } from '../../src/management/openapi/document.js';
import { CliError } from '../../src/programs/cli/api.js';
import { createProgram } from '../../src/programs/cli/program.js';
import { manage, managementToken } from '../support/management.js';
import { oneOfEach } from '../support/one-of-each.js';
import { sharedManagedService } from '../support/shared-service.js';
import { directoryOfTest } from '../support/temporary-directory.js';

const run = promisify(execFile);
const service = sharedManagedService();

type Outcome = { readonly status: number; readonly codes: readonly string[] };
type Environment = { readonly TOKEN: string; readonly ID: string };

const codesOf = (text: string) => [...text.matchAll(/"code":"(\w+)"/g)].map(([, code = '']) => code);
const shell = async (script: string, env: Environment) =>
  (await run('sh', ['-c', script], { env: { PATH: process.env['PATH'], ...env }, maxBuffer: 2 ** 26 })).stdout;

async function byCurl(example: string, env: Environment): Promise<Outcome> {
  const text = await shell(`${example} -s -w '\n%{http_code}'`, env);
  const end = text.lastIndexOf('\n');
  return { status: Number(text.slice(end)), codes: codesOf(text) };
}

/** What the examples of configurations call `config.yaml`. */
async function configuration(): Promise<string> {
  const directory = directoryOfTest();
  await writeFile(join(directory, 'config.yaml'), 'version: 1\nroles: [{name: clerk}]\n');
  return join(directory, 'config.yaml');
}

let modules = 0;

async function byTypescript(example: string, env: Environment): Promise<Outcome> {
  const program = `${example}\n//${++modules}`.replaceAll(/^console\.log\(.*$/gm, '');
  Object.assign(process.env, env);
  try {
    await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(program)}`);
    return { status: 200, codes: [] };
  } catch (error) {
    const [, status = 0] = /^Error: (\d{3}) /.exec(String(error)) ?? [];
    return { status: Number(status), codes: codesOf(String(error)) };
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
  }
}

async function byIdp(example: string, { TOKEN, ID }: Environment): Promise<Outcome> {
  const words = (await shell(`idp() { printf '%s\\0' "$@"; }\n${example}`, { TOKEN, ID })).split('\0').slice(0, -1);
  if (words.at(-1) === 'config.yaml') words.splice(-1, 1, await configuration());
  try {
    await createProgram(() => undefined, { exit: () => undefined, variables: { IDP_TOKEN: TOKEN } })
      .configureOutput({ writeErr: () => undefined })
      .parseAsync(words, { from: 'user' });
    return { status: 200, codes: [] };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { status: 0, codes: error.errors.map(({ code = '' }) => code) };
  }
}

/** What an example may be refused for: the records that it names are made up, it was run before, or the sample is what it is; the preview's client is made up. */
const explained = new Set([
  'not_found',
  'related_not_found',
  'already_exists',
  'invalid_transition',
  'no_proven_address',
  'unknown_scope',
  'default_environment',
]);
const nobody = '0192f0c1-7a3b-7c4d-8e5f-0123456789ab';
const order = ['GET', 'POST', 'PATCH', 'DELETE'];

test('every example is what the service takes: none is refused but for what it names (specification 6.5.4)', async () => {
  const api = await manage(service.url);
  const records = await oneOfEach(service, api);
  const TOKEN = await managementToken(service.url);
  const { sections } = referenceModel((await api.get('/openapi.json')).body as unknown as OpenApiDocument);
  const operations = sections.flatMap(({ id, operations: own }) => own.map((one) => ({ ...one, tag: id })));
  expect(operations.length).toBeGreaterThan(300);
  const refused: string[] = [];
  for (const { method, path, tag, curl, typescript, idp } of operations.sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method))) {
    const env = { TOKEN, ID: String(records.get(tag)?.['id'] ?? nobody) };
    const outcomes = {
      curl: await byCurl(curl, env),
      typescript: await byTypescript(typescript, env),
      idp: idp === null ? null : await byIdp(idp, env),
    };
    for (const [kind, outcome] of Object.entries(outcomes)) {
      if (outcome === null || (outcome.status >= 200 && outcome.status < 300)) continue;
      if (
        outcome.codes.length === 0 ||
        !outcome.codes.every((code) => explained.has(code) || (code === 'invalid_value' && path === '/api/token_preview'))
      )
        refused.push(`${kind}: ${method} ${path} ${outcome.status} ${outcome.codes.join(' ')}`);
    }
  }
  expect(refused).toEqual([]);
}, 600_000);
