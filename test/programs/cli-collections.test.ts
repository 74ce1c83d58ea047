// The commands that follow from the catalogue: each collection and call of the Management API.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { endpoints } from '../../src/management/calls/index.js';
import { registry } from '../../src/management/resources/index.js';
import { readCatalogue } from '../../src/programs/cli/catalogue.js';
import { CliError } from '../../src/programs/cli/api.js';
import { createProgram } from '../../src/programs/cli/program.js';
import { accessTo, runCli } from '../support/cli.js';
import { programArguments } from '../support/compiled.js';
import { runImports, sendData } from '../support/imports.js';
import { manage, managementToken, type Document } from '../support/management.js';
import { startProgram } from '../support/program.js';
import { sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();

const cli = (...words: string[]) => runCli(service.url, ...words);
const json = async (...words: string[]) =>
  JSON.parse(await cli(...words, '--output', 'json')) as { id: string; attributes: Record<string, unknown> };

/** The same with variables, and without options that say who calls. */
async function withVariables(variables: NodeJS.ProcessEnv, ...words: string[]): Promise<string> {
  const printed: string[] = [];
  const quiet = { writeErr: () => undefined };
  await createProgram((text) => printed.push(text), { exit: () => undefined, variables })
    .configureOutput(quiet)
    .parseAsync(['--url', service.url, ...words], { from: 'user' });
  return printed.join('\n');
}

async function temporaryHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'idp-cli-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

describe('the catalogue', () => {
  const { collections, calls } = readCatalogue();

  test('has every collection of the registry with all that can be set and done, and every call (specification 15.12.1)', () => {
    for (const resource of registry.byPath.values()) {
      const found = collections.find(({ path }) => path === resource.path);
      expect(found).toMatchObject({ type: resource.type, list: true, get: true });
      expect(found?.create?.attributes.map(({ name }) => name)).toEqual(resource.create && Object.keys(resource.create.schema.shape));
      expect(found?.update?.attributes.map(({ name }) => name)).toEqual(resource.update && Object.keys(resource.update.schema.shape));
      expect(found?.delete === true).toBe(resource.remove !== undefined);
      expect(found?.verbs.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(resource.actions ?? {})));
      const filters = new Set(found?.filters.map(({ name }) => name.replace(/\[.*/, '')));
      expect([...filters].sort()).toEqual(Object.keys(resource.filters).sort());
    }
    expect(calls.map(({ path, words }) => [path, words])).toEqual(endpoints.map(({ path, words }) => [path, words]));
  });
});

describe('a record', () => {
  test('is created, shown, changed and deleted; lists value by value, null, flags, JSON and relationships', async () => {
    const role = await json('roles', 'create', '--name', 'editor');
    const user = await json('users', 'create', '--email', 'ada@example.com', '--first-name', 'Ada', '--email-verified', '--metadata', '{"a":1}', '--roles', role.id); // prettier-ignore
    expect(user.attributes).toMatchObject({ email: 'ada@example.com', first_name: 'Ada', email_verified: true, metadata: { a: 1 } });
    expect(await cli('users', 'get', user.id)).toMatch(/^first_name +Ada$/m);
    expect(await cli('users', 'roles', user.id)).toContain('editor');
    expect((await json('users', 'update', user.id, '--first-name', 'null', '--email-verified', 'false')).attributes).toMatchObject({
      first_name: null,
      email_verified: false,
    });
    const client = await json('clients', 'create', '--name', 'Shop', '--client-id', 'shop', '--redirect-uris', 'https://a.example/cb', '--redirect-uris', 'https://b.example/cb'); // prettier-ignore
    expect(client).toMatchObject({ id: 'shop', attributes: { redirect_uris: ['https://a.example/cb', 'https://b.example/cb'] } });
    const changed = await json('clients', 'update', 'shop', '--redirect-uris', '["https://c.example/cb"]');
    expect(changed.attributes).toMatchObject({ redirect_uris: ['https://c.example/cb'] });
    const api = await json(
      'api_resources',
      'create',
      '--name',
      'Orders',
      '--identifier',
      'https://orders.example',
      '--access-token-lifetime',
      '600',
    );
    expect(api.attributes).toMatchObject({ access_token_lifetime: 600 });
    expect(await cli('clients', 'delete', 'shop')).toBe('deleted: shop');
  });

  test('takes its actions, and records are put to it and taken from it', async () => {
    const [role, user] = [await json('roles', 'create', '--name', 'reader'), await json('users', 'create', '--email', 'bob@example.com')];
    expect((await json('users', 'block', user.id)).attributes['status']).toBe('blocked');
    expect(await cli('users', 'add_roles', user.id, role.id)).toContain(user.id);
    expect(await cli('users', 'roles', user.id)).toContain('reader');
    await cli('users', 'remove-roles', user.id, role.id);
    expect(await cli('users', 'roles', user.id)).not.toContain('reader');
    const webhook = await json('webhooks', 'create', '--name', 'W', '--url', 'http://127.0.0.1:49151/x', '--events', 'user.created');
    expect(webhook.attributes).toMatchObject({ url: 'http://127.0.0.1:49151/x', signing_secret: expect.stringMatching(/^whsec_/) });
    const again = await json('webhooks', 'redeliver_failed', webhook.id, '--since', '2026-01-31T12:00:00Z');
    expect(again).toMatchObject({ meta: { deliveries: 0 } });
  });

  test('what concerns no record is called by its words', async () => {
    expect(JSON.parse(await cli('diagnostics'))).toMatchObject({ status: expect.any(String) });
    const preview = ['token-preview', '--grant-type', 'client_credentials', '--client', 'management', '--resource', `${service.url}/api`];
    expect(JSON.parse(await cli(...preview))).toMatchObject({ access_token: { format: 'jwt' } });
  });
});

describe('a list', () => {
  test('is filtered, sorted and followed to its end, as a table, JSON, YAML or NDJSON', async () => {
    const api = await manage(service.url);
    for (let number = 0; number < 103; number++) await api.create('roles', { name: `many ${String(number).padStart(3, '0')}` });
    const listed = ['roles', 'list', '--filter', 'search=many', '--sort', 'name'];
    const all = (await cli(...listed, '--all', '--output', 'ndjson'))
      .split('\n')
      .map((line) => JSON.parse(line) as { attributes: { name: string } });
    expect(all.map(({ attributes }) => attributes.name)).toEqual(all.map((_, index) => `many ${String(index).padStart(3, '0')}`));
    expect(all).toHaveLength(103);
    expect(JSON.parse(await cli(...listed, '--limit', '101', '--json'))).toHaveLength(101);
    expect(parse(await cli(...listed, '--limit', '2', '--output', 'yaml'))).toHaveLength(2);
    const table = (await cli(...listed, '--columns', 'name')).split('\n');
    expect([table.length, table[0]?.split(/ +/), table[1]]).toEqual([26, ['id', 'name'], expect.stringMatching(/many 000$/)]);
    expect(await cli('users', 'list', '--filter', 'created_at[gt]=2990-01-01T00:00:00Z', '--output', 'ndjson')).toBe('');
  });

  test('what a record says moves no cursor and hides nothing, whatever the form (attack 48.1482)', async () => {
    const name = 'a\u001b[2Jb\u0007c\u202ed\u0085e\nf';
    const api = await manage(service.url);
    const { id } = await api.create('users', { email: 'eve@example.com', metadata: { name } });
    for (const output of ['table', 'json', 'yaml', 'ndjson']) {
      const text = await cli('users', 'get', id, '--output', output);
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/); // oxlint-disable-line no-control-regex
    }
    expect(JSON.parse(await cli('users', 'get', id, '--json'))).toMatchObject({ attributes: { metadata: { name } } });
    expect(parse(await cli('users', 'get', id, '--output', 'yaml'))).toMatchObject({ attributes: { metadata: { name } } });
  });
});

describe('a file', () => {
  test('of an export is printed as it comes, and sent to an import, from where an earlier upload broke off (specification 15.12.1)', async () => {
    const email = 'file@example.com';
    await cli('users', 'create', '--email', email, '--first-name', 'Ada', '--metadata', '{"shown": "\\u202e"}');
    await cli('users', 'create', '--email', 'file-two@example.com');
    const { id } = await json('user_exports', 'create');
    const lines = await cli('user_exports', 'data', id);
    const rows = lines.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(rows).toContainEqual(expect.objectContaining({ email, first_name: 'Ada', metadata: { shown: '\u202e' } }));
    expect(lines).not.toContain('\u202e');
    await expect(cli('user_exports', 'data', 'unknown')).rejects.toThrow('no such resource');

    const file = join(await temporaryHome(), 'users.ndjson');
    const text = `${lines}\n`;
    for (const [content, coding] of [
      [Buffer.from(text), {}],
      [gzipSync(text), { 'content-encoding': 'gzip' }],
    ] as const) {
      await writeFile(file, content);
      const job = await json('user_imports', 'create', '--mode', 'upsert', '--dry-run', 'true');
      const headers = { ...coding, 'content-range': `bytes 0-19/${content.length}` };
      expect((await sendData(await manage(service.url), job.id, content.subarray(0, 20), headers)).status).toBe(200);
      expect((await json('user_imports', 'data', job.id, file)).attributes).toMatchObject({
        status: 'queued',
        received_bytes: content.length,
      });
      await runImports(service);
      expect((await json('user_imports', 'get', job.id)).attributes).toMatchObject({ status: 'succeeded', row_count: rows.length });
    }
    await expect(cli('user_imports', 'data', id, join(file, 'none'))).rejects.toThrow('can not be read');
  });

  test('that breaks off is told', async () => {
    const { id } = await json('user_exports', 'create');
    const fetched = globalThis.fetch;
    vi.stubGlobal('fetch', async (input: string | URL | Request, init?: RequestInit) => {
      const { status, headers } = await fetched(input, init);
      const broken = new ReadableStream({
        start: (controller) => controller.enqueue(Buffer.from('{"email": "first@example.com"}\n{"ema')),
        pull: (controller) => controller.error(new Error('gone')),
      });
      return new Request(input, init).url.endsWith('/data') ? new Response(broken, { status, headers }) : fetched(input, init);
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    await expect(cli('user_exports', 'data', id)).rejects.toThrow('the file broke off');
  });
});

describe('the events feed', () => {
  const roles = ['events', 'list', '--filter', 'event_type=role.created', '--output', 'ndjson'];
  const namesIn = (text: string) => text.split('\n').filter((line) => line.includes('role.created')).map((line) => (JSON.parse(line) as Document)['attributes'].payload.data.name as string); // prettier-ignore

  test('goes on from the cursor that is kept in a file, oldest first, and passes nothing over', async () => {
    const file = join(await temporaryHome(), 'cursor');
    await cli(...roles, '--after', 'now', '--cursor-file', file);
    const names = Array.from({ length: 5 }, (_, n) => `followed-${n}`);
    for (const name of names) await cli('roles', 'create', '--name', name);
    await expect.poll(() => cli(...roles, '--after', 'oldest', '--all')).toContain('followed-4');
    expect(namesIn(await cli(...roles, '--cursor-file', file, '--limit', '2'))).toEqual(names.slice(0, 2));
    expect(namesIn(await cli(...roles, '--cursor-file', file, '--all'))).toEqual(names.slice(2));
    expect(await cli(...roles, '--cursor-file', file, '--all')).toBe('');
    await writeFile(file, 'broken');
    await expect(cli(...roles, '--cursor-file', file)).rejects.toThrow('cursor');
    await expect(cli(...roles, '--cursor-file', join(file, 'x'))).rejects.toThrow('can not be read');
    await expect(cli(...roles, '--cursor-file', '/nowhere/x')).rejects.toThrow('can not be written');
  });

  test('is followed as it happens, and goes on after an interruption', async () => {
    const home = await temporaryHome();
    const words = [...accessTo(service.url), ...roles, '--follow', '--cursor-file', join(home, 'cursor')];
    const seen: string[] = [];
    for (const name of ['while-away', 'followed-on']) {
      const follower = await startProgram('programs/cli', words, { HOME: home });
      await expect.poll(() => readFile(join(home, 'cursor'), 'utf8').catch(() => '')).not.toBe('');
      await cli('roles', 'create', '--name', `${name}-live`);
      await follower.prints(`${name}-live`);
      follower.kill('SIGINT');
      seen.push(...namesIn((await follower.ended).stdout));
      await cli('roles', 'create', '--name', name);
    }
    // What was printed and not yet noted when the process ended comes once more.
    expect([...new Set(seen)]).toEqual(['while-away-live', 'while-away', 'followed-on-live']);
  });
});

test('output that nobody reads any more, as after `head`, ends the command without an error', async () => {
  const command = [...(await programArguments('programs/cli')), 'clients', 'create', '--help'];
  const child = spawn(process.execPath, command, { env: { PATH: process.env['PATH'] }, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const said: string[] = [];
  child.stderr.on('data', (data: Buffer) => said.push(data.toString()));
  const status = await new Promise((resolve) => child.once('close', resolve));
  expect([status, said.join('')]).toEqual([0, '']);
});

describe('a refusal', () => {
  const ended = async (...words: string[]) => {
    const command = [...(await programArguments('programs/cli')), ...words];
    const child = spawn(process.execPath, command, { env: { PATH: process.env['PATH'] }, stdio: ['ignore', 'pipe', 'pipe'] });
    const said: string[] = [];
    child.stderr.on('data', (data: Buffer) => said.push(data.toString()));
    const status = await new Promise((resolve) => child.once('close', resolve));
    return { status, stderr: said.join('') };
  };

  test('of the service is 1, with its code and request id; of what was written 64; nobody there 69 (specification 15.12.4)', async () => {
    const refused = await ended(...accessTo(service.url), 'users', 'create', '--email', 'no address');
    expect(refused).toEqual({ status: 1, stderr: expect.stringMatching(/not an email address.*\(\w+\)\nrequest id: \S+/) });
    for (const words of [
      ['users', 'create'],
      ['users', 'lst'],
      ['users', 'list', '--filter', 'status'],
      ['users', 'list', '--output', 'xml'],
      ['--profile', '../x', 'users', 'list'],
    ])
      expect([words, (await ended(...(words[0] === '--profile' ? [] : accessTo(service.url)), ...words)).status]).toEqual([words, 64]);
    expect((await ended('users', 'list')).stderr).toContain('--client-id');
    expect(await ended(...accessTo('http://127.0.0.1:9'), 'users', 'list')).toEqual({
      status: 69,
      stderr: expect.stringContaining('can not be reached'),
    });
  });

  test('of a value is told before anything is sent', async () => {
    await expect(cli('api_resources', 'update', 'x', '--access-token-lifetime', 'ten')).rejects.toThrow('not a number');
    await expect(cli('users', 'update', 'x', '--metadata', '{')).rejects.toThrow('not JSON');
    await expect(cli('users', 'update', 'x')).rejects.toThrow('Name what to change');
    await expect(cli('users', 'list', '--limit', '0')).rejects.toThrow('--limit');
  });
});

describe('tokens', () => {
  test('of a client are remembered until they end, in files that nobody else reads (specification 15.12.3, attack 48.1481)', async () => {
    const home = await temporaryHome();
    const words = [...accessTo(service.url).slice(2), 'users', 'list', '--output', 'ndjson'];
    const issued = async () => (await service.deps.db.knex('audit_logs').where({ action: 'token.issued' })).length;
    await withVariables({ HOME: home }, ...words);
    const [name] = await readdir(join(home, '.config/idp/tokens'));
    const path = join(home, '.config/idp/tokens', String(name));
    const first = await readFile(path, 'utf8');
    const before = await issued();
    await withVariables({ HOME: home }, ...words);
    expect([await issued(), await readFile(path, 'utf8')]).toEqual([before, first]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o700);
    expect(first).not.toContain(accessTo(service.url)[5]);
  });

  test('IDP_TOKEN is one; without any a command says how to come to one', async () => {
    const token = await managementToken(service.url);
    expect(await withVariables({ IDP_TOKEN: token }, 'roles', 'list', '--filter', 'search=administrator')).toContain('administrator');
    await expect(withVariables({ IDP_TOKEN: 'wrong' }, 'roles', 'list')).rejects.toThrow(CliError);
    await expect(withVariables({ HOME: await temporaryHome() }, 'roles', 'list')).rejects.toThrow('idp login');
  });
});

describe('completion', () => {
  const complete = (...words: string[]) => withVariables({}, 'complete', '--', ...words).then((text) => text.split('\n'));

  test('knows collections, commands, options and values', async () => {
    expect(await complete('users')).toEqual(['users']);
    expect(await complete('us')).toEqual(['user_exports', 'user_imports', 'users']);
    expect(await complete('users', '')).toEqual(expect.arrayContaining(['list', 'create', 'block', 'add_roles']));
    expect(await complete('users', 'create', '--first')).toEqual(['--first-name']);
    expect(await complete('clients', 'create', '--application-type', '')).toEqual(
      expect.arrayContaining(['machine', 'native', 'spa', 'web']),
    );
    expect(await complete('users', 'list', '--output', 'n')).toEqual(['ndjson']);
    expect(await complete('completion', '')).toEqual(['bash', 'fish', 'zsh']);
  });

  test.each(['bash', 'zsh', 'fish'])('%s has a script', async (shell) => {
    expect(await withVariables({}, 'completion', shell)).toContain('complete -- ');
  });
});

test('help names attributes with their types, and an example that runs', async () => {
  let text = '';
  const shown = createProgram(() => undefined);
  for (const one of shown.commands) one.configureOutput({ writeOut: (part) => (text += part) });
  await expect(shown.parseAsync(['--url', service.url, 'users', 'create', '--help'], { from: 'user' })).rejects.toThrow('outputHelp');
  expect(text).toMatch(/--email-verified \[true\|false\]/);
  expect(/\$ idp (users create .*)$/m.exec(text)?.[1]).toBe('users create --email ada@example.com');
});
