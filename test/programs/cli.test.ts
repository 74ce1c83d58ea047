import { expect, test } from 'vitest';
import { findClient } from '../../src/db/tables/clients.js';
import { ensureDemoData } from '../../src/programs/demo/data.js';
import { runCli } from '../support/cli.js';
import { manage } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();

const cli = (...words: string[]) => runCli(service.url, ...words);

test('the first hour: a client, a user, a rotated secret, the deliveries', async () => {
  const client = await cli('create-client', 'Shop', '--redirect-uri', 'https://shop.example/cb');
  const id = /client_id +(\S+)/.exec(client)?.[1] as string;
  expect(client).toMatch(/client_secret +cs_/);
  expect(await cli('rotate-secret', 'client', id)).toMatch(/client_secret +cs_/);
  expect(await cli('create-user', 'ada@example.com', '--first-name', 'Ada')).toContain('ada@example.com');
  const api = await manage(service.url);
  const webhook = await api.create('webhooks', { name: 'W', url: 'http://127.0.0.1:49151/x', events: ['user.created'] });
  await api.post(`/webhooks/${webhook['id']}/test`);
  expect(await cli('list-deliveries', '--event-type', 'webhook.test')).toContain('webhook.test');
  // What waits for its next attempt is taken too.
  await expect.poll(() => cli('redeliver-failed', webhook['id'], '--since', '2026-01-31T12:00:00Z')).toBe('1 deliveries are under way');
  expect(JSON.parse(await cli('--json', 'list-deliveries'))).toHaveLength(1);
});

test('new web and single-page clients have name and address in their ID tokens, the demonstration’s too; others are as the API makes them', async () => {
  const made = async (...words: string[]) => {
    const text = await cli('--json', 'create-client', 'Made', ...words);
    return (JSON.parse(text) as { attributes: { id_token_claims: string } }).attributes.id_token_claims;
  };
  const uri = ['--redirect-uri', 'https://shop.example/cb'];
  expect(await made(...uri)).toBe('profile');
  expect(await made('--type', 'spa', ...uri)).toBe('profile');
  expect(await made('--type', 'native', ...uri)).toBe('protocol');
  expect(await made('--type', 'machine')).toBe('protocol');
  expect(await made('--id-token-claims', 'protocol', ...uri)).toBe('protocol');
  const ctx = await service.context();
  const { web, spa, machine } = await ensureDemoData(ctx);
  const claims = [web, spa, machine].map(async ({ client_id }) => (await findClient(ctx.scope, client_id))?.id_token_claims);
  expect(await Promise.all(claims)).toEqual(['profile', 'profile', 'protocol']);
});

test('refusals are told in the words of the service', async () => {
  await expect(cli('create-user', 'no address')).rejects.toThrow('not an email address');
  await expect(cli('rotate-secret', 'client', 'unknown')).rejects.toThrow('no such resource');
  await expect(cli('rotate-secret', 'key', 'x')).rejects.toThrow('client or webhook');
  await expect(cli('redeliver-failed', 'unknown', '--since', '2026-01-31T12:00:00Z')).rejects.toThrow('no such resource');
  const api = await manage(service.url);
  const webhook = await api.create('webhooks', { name: 'W', url: 'http://127.0.0.1:49151/x', events: ['user.created'] });
  await expect(cli('redeliver-failed', webhook['id'], '--since', 'yesterday')).rejects.toThrow('/meta/since');
  await expect(cli('--client-secret', 'wrong', 'list-deliveries')).rejects.toThrow('invalid_client');
});
