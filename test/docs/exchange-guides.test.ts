// docs/guides/token-exchange.md and docs/guides/workloads.md, followed: what it creates is created, what it sends is sent, and the answers are as it says.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { addClient, addUser } from '../support/data.js';
import { link, manage } from '../support/management.js';
import { authorizeCode, claimsOf, oauthPost, redeem } from '../support/oauth.js';
import { signedIn } from '../support/signed-in.js';
import { gitHubClaims, startWorkloadIssuer } from '../support/workload-issuer.js';
import { contextOf, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);

/** The blocks of a language in a guide, with what stands for ids replaced. */
async function blocksOf(name: string, language: string, values: Record<string, string> = {}): Promise<string[]> {
  const text = await readFile(`docs/guides/${name}.md`, 'utf8');
  const blocks = [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm'))].map(([, block = '']) => block);
  return blocks.map((block) => Object.entries(values).reduce((done, [from, to]) => done.replaceAll(from, to), block));
}

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
    await api.create('permissions', { name: permission }, { api_resource: link('api_resource', ids[name]) });
  } // prettier-ignore
  const grant = (await blocksOf('token-exchange', 'json', ids))[3] as string;
  expect((await api.post('/client_grants', JSON.parse(grant))).status).toBe(201);

  const app = await addClient(ctx);
  const browser = await signedIn(service, await addUser(ctx));
  const code = await authorizeCode(browser, app, { resource: 'https://orders.example.org', scope: 'orders:read' });
  const { access_token } = (await redeem(service.url, app, code)).body;
  const command = (await blocksOf('token-exchange', 'sh')).find((block) => block.includes('grant-type:token-exchange')) ?? '';
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

test('workloads', async () => {
  const api = await manage(service.url);
  const platform = await startWorkloadIssuer(() => service.clock.now());
  const [client, issuer] = (await blocksOf('workloads', 'json', { 'https://token.actions.githubusercontent.com': platform.url })).map(
    (block) => JSON.parse(block) as object,
  );
  const made = await api.post('/clients', client);
  const trusted = await api.post('/trusted_issuers', issuer);
  expect([made.status, trusted.status]).toEqual([201, 201]);
  const ids = { CLIENT_ID: made.body['data'].id as string, ISSUER_ID: trusted.body['data'].id as string };
  const credential = (await blocksOf('workloads', 'json', ids))[2] as string;
  expect((await api.post('/federated_credentials', JSON.parse(credential))).status).toBe(201);
  const orders = await api.create('api_resources', { name: 'Ours', identifier: 'https://ours.example.org' });
  await api.create('permissions', { name: 'orders:read' }, { api_resource: link('api_resource', orders['id'] as string) });
  const grant = { client: link('client', ids.CLIENT_ID), api_resource: link('api_resource', orders['id'] as string) };
  await api.create('client_grants', { scopes: ['orders:read'] }, grant);

  const values = { $PLATFORM_TOKEN: await platform.sign(gitHubClaims(ctx.environment.issuer)), $CLIENT_ID: ids.CLIENT_ID };
  for (const command of await blocksOf('workloads', 'sh', { 'https://orders.example.org': 'https://ours.example.org' })) {
    const answer = await oauthPost(service.url, '/oauth/token', null, formOf(command, values));
    expect(answer.status).toBe(200);
    expect(claimsOf(answer.body.access_token)).toMatchObject({ sub: ids.CLIENT_ID, aud: 'https://ours.example.org' });
  }
  await platform.close();
});
