import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { manage, managementClient } from '../support/management.js';
import type {} from '../support/service.js';
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
