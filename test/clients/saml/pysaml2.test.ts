// A SAML identity provider of another maker, pysaml2 with xmlsec1: it takes our metadata and requests, and we take its metadata and responses.
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { Browser } from '../../support/browser.js';
import { needs } from '../../support/programs.js';
import { samlKeyPair } from '../../support/saml-provider.js';
import { addSamlConnection, answer } from '../../support/saml-sign-in.js';
import { contextOf, sharedService } from '../../support/shared-service.js';
import { codeOf, startAt } from '../../support/sso.js';
import { remove } from '../../../src/db/scope.js';
import { findUserByEmailKey } from '../../../src/db/tables/users.js';

const test = needs('xmlsec1');
const service = sharedService();
const ctx = contextOf(service);
const run = promisify(execFile);
let directory: string;
let files: Record<string, string>;
let metadata: string;

/** What the provider prints. */
const ask = (request: Record<string, unknown>): Promise<string> =>
  new Promise((resolve, reject) => {
    const python = spawn(join(directory, '.venv/bin/python'), [join(import.meta.dirname, 'provider.py')]);
    let [printed, said] = ['', ''];
    python.stdout.on('data', (text: Buffer) => (printed += text.toString()));
    python.stderr.on('data', (text: Buffer) => (said += text.toString()));
    python.on('close', (code) => (code === 0 ? resolve(printed) : reject(new Error(said.slice(-2000)))));
    python.stdin.end(JSON.stringify({ ...files, ...request }));
  });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pysaml2-'));
  const found = await run('which', ['xmlsec1']).catch(() => null);
  if (found === null) return;
  await run('python3', ['-m', 'venv', join(directory, '.venv')]);
  await run(join(directory, '.venv/bin/pip'), ['install', '--quiet', '--requirement', join(import.meta.dirname, 'requirements.txt')]);
  const pair = await samlKeyPair();
  files = { key: join(directory, 'key.pem'), certificate: join(directory, 'certificate.pem'), xmlsec1: found.stdout.trim() };
  await writeFile(files['key'] ?? '', pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(files['certificate'] ?? '', pair.certificate);
  metadata = await ask({ action: 'metadata' });
}, 300_000);
afterAll(() => rm(directory, { recursive: true, force: true }));

/** A sign-in with what the provider says to our request. */
async function signIn(how: Readonly<Record<string, unknown>>, signed_part: string): Promise<Response> {
  const options = { idp_metadata_xml: metadata, trust_email: true, signed_part };
  const connection = await addSamlConnection(ctx, await samlKeyPair(), {}, { options });
  const browser = new Browser(service.url);
  const service_provider = await (await browser.get(`/auth/sso/${connection.id}/metadata`)).text();
  const query = Object.fromEntries((await startAt(browser, connection)).searchParams);
  const now = Math.floor(ctx.clock.now().getTime() / 1000);
  const xml = await ask({ action: 'response', service_provider, query, now, ...how });
  return answer(browser, connection, xml, query['RelayState'] ?? '');
}

describe('somebody signs in whose response has', () => {
  test.each([
    ['a signed assertion', { sign_assertion: true, sign_response: false, encrypt: null }, 'assertion'],
    ['a signed response', { sign_assertion: false, sign_response: true, encrypt: null }, 'response'],
    ['both signed', { sign_assertion: true, sign_response: true, encrypt: null }, 'both'],
    ['a signed assertion, encrypted', { sign_assertion: true, sign_response: false, encrypt: 'aes128-cbc' }, 'assertion'],
  ])('%s', async (_name, how, signed_part) => {
    const response = await signIn(how, signed_part);
    expect([response.status, response.headers.get('location')]).toEqual([303, '/account']);
    expect(await findUserByEmailKey(ctx.scope, 'grace@corp.example')).toMatchObject({ first_name: 'Grace', last_name: 'Hopper' });
    await remove(ctx.scope, 'users', {});
  });
});

test('an assertion that it encrypts with Triple DES is refused', async () => {
  expect(await codeOf(await signIn({ sign_assertion: true, sign_response: false, encrypt: 'tripledes' }, 'assertion'))).toBe(
    'saml_invalid',
  );
});
