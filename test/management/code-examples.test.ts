import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { createOpenApi } from '../../src/management/openapi/document.js';
import { referenceModel } from '../../src/management/reference/model.js';
import { registry } from '../../src/management/resources/index.js';
import { readCatalogue, type Collection } from '../../src/programs/cli/catalogue.js';
import { createProgram } from '../../src/programs/cli/program.js';
import { shellWord } from '../../src/lib/shell-word.js';
import { programArguments } from '../support/compiled.js';
import { manage, managementClient } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const run = promisify(execFile);
let TOKEN: string;
let roles: string;

beforeAll(async () => {
  const api = await manage(service.url);
  TOKEN = api.token ?? '';
  roles = await (await fetch(`${service.url}/docs/api/roles`)).text();
});

const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&#34;': '"', '&#39;': "'", '&amp;': '&' };

/** The text of an example of a page, as the button copies it. */
function exampleIn(html: string, id: string): string {
  const [, code = ''] = new RegExp(`<pre id="${id}"[^>]*><code>([\\s\\S]*?)</code>`).exec(html) ?? [];
  return code.replaceAll(/&(?:lt|gt|#34|#39|amp);/g, (entity) => entities[entity] ?? entity);
}

/** A command of the page as a shell reads it: words, some of them in single quotes. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/(?:'[^']*'|\\'|[^\s'\\])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|\\'/g, (one, inner?: string) => inner ?? one.slice(1)),
  );

const shell = async (id: string, env: Record<string, string> = {}) =>
  (await run('sh', ['-c', `${exampleIn(roles, `${id}-curl`)} -s`], { env: { ...process.env, TOKEN, ...env } })).stdout;
const node = async (code: string, env: Record<string, string> = {}) =>
  (await run(process.execPath, ['--input-type=module', '-e', code], { env: { ...process.env, TOKEN, ...env } })).stdout;

test('the curl examples of a page work as they stand, one after the other', async () => {
  const made = JSON.parse(await shell('create_role')) as { data: { id: string; attributes: { name: string } } };
  expect(made.data.attributes.name).toBe('Orders');
  const env = { ID: made.data.id };
  expect(JSON.parse(await shell('get_role', env))).toMatchObject({ data: { id: made.data.id } });
  expect(await shell('list_roles')).toContain(made.data.id);
  expect(await shell('delete_role', env)).toBe('');
  expect(await shell('get_role', env)).toContain('not_found');
});

test('the TypeScript examples of a page work as they stand, and fail aloud', async () => {
  await node(exampleIn(roles, 'create_role-typescript'));
  const list = JSON.parse(await shell('list_roles')) as { data: { id: string; attributes: { name: string } }[] };
  const ID = list.data.find(({ attributes }) => attributes.name === 'Orders')?.id ?? '';
  expect(await node(exampleIn(roles, 'get_role-typescript'), { ID })).toContain(ID);
  expect(await node(exampleIn(roles, 'delete_role-typescript'), { ID })).toBe('');
  await expect(node(exampleIn(roles, 'get_role-typescript'), { ID })).rejects.toThrow(/404/);
});

test('the examples of the command line work as they stand', async () => {
  const cli = async (id: string, env: Record<string, string> = {}) => {
    const program = [process.execPath, ...(await programArguments('programs/cli'))].map(shellWord).join(' ');
    const code = exampleIn(roles, `${id}-idp`).replace(/^idp /, `${program} `);
    return (await run('sh', ['-c', `${code} --json`], { env: { PATH: process.env['PATH'], IDP_TOKEN: TOKEN, ...env } })).stdout;
  };
  const made = JSON.parse(await cli('create_role')) as { id: string };
  const ID = made.id;
  expect(JSON.parse(await cli('get_role', { ID }))).toMatchObject({ id: ID });
  expect(JSON.parse(await cli('delete_role', { ID }))).toEqual({ deleted: ID });
  await expect(cli('get_role', { ID })).rejects.toThrow(/not_found/);
});

test('the first examples get an access token', async () => {
  const start = await (await fetch(`${service.url}/docs`)).text();
  const { id: CLIENT_ID, client_secret: CLIENT_SECRET } = managementClient;
  const env = { CLIENT_ID, CLIENT_SECRET };
  const tokens = [
    await node(exampleIn(start, 'token-typescript'), env),
    (await run('sh', ['-c', `${exampleIn(start, 'token-curl')}; echo "$TOKEN"`], { env: { ...process.env, ...env } })).stdout,
  ];
  for (const token of tokens) {
    const answer = await fetch(`${service.url}/api/roles`, { headers: { authorization: `Bearer ${token.trim()}` } });
    expect(answer.status).toBe(200);
  }
  await expect(node(exampleIn(start, 'token-typescript'), { ...env, CLIENT_SECRET: 'wrong' })).rejects.toThrow(/401/);
});

test('the examples of the command line send what those of curl do, every one of them (specification 6.5.1)', async () => {
  const document = createOpenApi(registry)({ base_url: service.url, issuer: service.url });
  const related = ({ path, verbs }: Collection) =>
    verbs.filter(({ many }) => many !== undefined).map((verb) => `/api/${path}/x/${verb.path}`);
  const lists = new Set(readCatalogue().collections.flatMap(related));
  const seen: { method: string; path: string; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { pathname } = new URL(request.url ?? '', service.url);
    seen.push({ method: request.method ?? '', path: pathname, body });
    const isList = request.method === 'GET' && (pathname.split('/').length === 3 || lists.has(pathname));
    response.end(JSON.stringify({ data: isList ? [] : { id: 'x', attributes: {} }, links: { next: null } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const operations = referenceModel(document).sections.flatMap((section) => section.operations);
  const unsaid = operations.filter(({ idp }) => idp === null).map(({ method, path }) => `${method} ${path}`);
  expect(unsaid.filter((one) => !/^GET .*\/relationships\//.test(one))).toEqual([]);
  for (const { id, idp, curl } of operations) {
    if (idp === null || id.includes('config')) continue;
    const words = wordsOf(idp.replaceAll('\\\n', ' ').replaceAll('"$ID"', 'x').replace(service.url, url)).slice(1);
    const program = createProgram(() => undefined, { exit: () => undefined, variables: { IDP_TOKEN: 'x' } }).configureOutput({ writeErr: () => undefined }); // prettier-ignore
    await program.parseAsync(words, { from: 'user' }).catch((error: unknown) => expect.fail(`${idp}: ${String(error)}`));
    const [, method, path] = /^curl -X (\w+) "[^"]*?(\/api[^"]*)"/.exec(curl) ?? [];
    const sent = /-d '([\s\S]*)'$/.exec(curl)?.[1]?.replaceAll(`'"$ID"'`, 'x').replaceAll(`'\\''`, `'`);
    const last = seen.at(-1);
    expect([id, last?.method, last?.path]).toEqual([id, method, path?.replace('$ID', 'x')]);
    const bodyOf = (json: string | undefined) => {
      const body = JSON.parse(json || '{}') as { data?: { id?: string; attributes?: object } };
      if (body.data && !Array.isArray(body.data)) Object.assign(body.data, { id: null, attributes: body.data.attributes ?? {} });
      return body;
    };
    expect([id, bodyOf(last?.body)]).toEqual([id, bodyOf(sent)]);
  }
});
