// The snippets of docs/how-to/kitsu.md, run one after the other as they stand there, against a service that listens.
import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { manage, managementClient } from '../support/management.js';
import { directoryOfFile } from '../support/temporary-directory.js';
import { sharedManagedService } from '../support/shared-service.js';

const directory = directoryOfFile();

const service = sharedManagedService();

beforeAll(async () => {
  await symlink(resolve('node_modules'), join(directory, 'node_modules'));
});

test('creating, reading, changing, rotating, being refused and deleting, as the guide says', async () => {
  const guide = await readFile('docs/how-to/kitsu.md', 'utf8');
  const snippets = [...guide.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code);
  expect(snippets).toHaveLength(8);
  const said = `console.log(JSON.stringify({ id, signing_secret, found: webhooks.map((one) => one.id), read: webhook, changed: changed.data, rotated: rotated.data, refusal }));`;
  await writeFile(join(directory, 'guide.mjs'), [...snippets, said].join('\n'));
  const env = { ...process.env, ORIGIN: service.url, CLIENT_ID: managementClient.id, CLIENT_SECRET: managementClient.client_secret };
  const { stdout } = await promisify(execFile)(process.execPath, ['guide.mjs'], { cwd: directory, env });
  const { id, signing_secret, found, read, changed, rotated, refusal } = JSON.parse(stdout) as Record<string, Record<string, unknown>>;
  expect(signing_secret).toMatch(/^whsec_/);
  expect([found, read]).toMatchObject([[id], { id, name: 'Orders', events: ['user.created'] }]);
  expect(read).not.toHaveProperty('signing_secret');
  expect(changed).toMatchObject({ id, name: 'Orders', description: 'Tells the order system of new people.' });
  expect(rotated?.['signing_secret']).toMatch(/^whsec_/);
  expect(rotated?.['signing_secret']).not.toBe(signing_secret);
  expect(refusal).toMatchObject({ status: '422', code: 'unknown_event_type', source: { pointer: '/data/attributes/events/0' } });
  expect((await (await manage(service.url)).get(`/webhooks/${id as unknown as string}`)).status).toBe(404);
});

test('the guide and the list of errors are on the site', async () => {
  for (const [path, text] of [
    ['/docs/kitsu', 'camelCaseTypes'],
    ['/docs/errors', 'unknown_event_type'],
  ] as const) {
    const page = await fetch(service.url + path);
    expect([path, page.status, (await page.text()).includes(text)]).toEqual([path, 200, true]);
  }
});
