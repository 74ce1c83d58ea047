// docs/guides/token-exchange.md, followed: what it creates is created, what it sends is sent, and the answers are as it says.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { signedIn } from '../support/browser.js';
import { addClient, addUser } from '../support/data.js';
import { link, manage } from '../support/management.js';
import { authorizeCode, claimsOf, oauthPost, redeem } from '../support/oauth.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);

/** The blocks of a language in a guide, with what stands for ids replaced. */
async function blocksOf(name: string, language: string, values: Record<string, string> = {}): Promise<string[]> {
  const text = await readFile(`docs/guides/${name}.md`, 'utf8');
  const blocks = [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm'))].map(([, block = '']) => block);
  return blocks.map((block) => Object.entries(values).reduce((done, [from, to]) => done.replaceAll(from, to), block));
}

/** The form that a curl command sends. */
const formOf = (command: string, values: Record<string, string>) =>
  Object.fromEntries(
    [...command.matchAll(/-d ([\w-]+)=("?)(\$?[^\s"]+)\2/g)].map(([, name = '', , value = '']) => [name, values[value] ?? value]),
  );

test('token exchange', async () => {
  const api = await manage(service.url);
  const [client, orders, stock] = (await blocksOf('token-exchange', 'json')).map((block) => JSON.parse(block) as object);
  const made = await api.post('/clients', client);
  expect(made.status).toBe(201);
  const ids: Record<string, string> = { CLIENT_ID: made.body['data'].id };
  for (const [name, document, permission] of [['ORDERS_ID', orders, 'orders:read'], ['STOCK_ID', stock, 'stock:read']] as const) {
    const answer = await api.post('/api_resources', document);
    expect(answer.status).toBe(201);
    ids[name] = answer.body['data'].id as string;
    await api.create('permissions', 'permission', { name: permission }, { api_resource: link('api_resource', ids[name]) });
  } // prettier-ignore
  const grant = (await blocksOf('token-exchange', 'json', ids))[3] as string;
  expect((await api.post('/client_grants', JSON.parse(grant))).status).toBe(201);

  const app = await addClient(ctx);
  const browser = await signedIn(service, await addUser(ctx));
  const code = await authorizeCode(browser, app, { resource: 'https://orders.example.org', scope: 'orders:read' });
  const { access_token } = (await redeem(service.url, app, code)).body;
  const [command = ''] = await blocksOf('token-exchange', 'sh');
  const secret = made.body['data'].attributes.client_secret as string;
  const self = { id: ids['CLIENT_ID'] as string, client_secret: secret };
  const answer = await oauthPost(service.url, '/oauth/token', self, formOf(command, { $SUBJECT_TOKEN: access_token }));
  expect(answer.status).toBe(200);
  expect(claimsOf(answer.body.access_token)).toMatchObject({
    aud: 'https://stock.example.org',
    scope: 'stock:read',
    act: { sub: self.id },
  });
});
