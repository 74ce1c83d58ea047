// docs/guides/any-other-library.md: its clients can be created, and its values are those of discovery.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { manage } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const guide = await readFile('docs/guides/any-other-library.md', 'utf8');
const blocksOf = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block);

const example = 'https://id.example.com';
const discoveryPath = '/.well-known/openid-configuration';

test('the clients can be created as they stand there', async () => {
  const api = await manage(service.url);
  const documents = blocksOf('json');
  expect(documents).toHaveLength(3);
  for (const document of documents) {
    const answer = await api.post('/clients', JSON.parse(document));
    expect([answer.status, answer.text]).toEqual([201, answer.text]);
  }
});

test('it names every address of discovery and no other', async () => {
  const said = (await (await fetch(service.url + discoveryPath)).json()) as Record<string, unknown>;
  const issuer = String(said['issuer']);
  const ours = Object.values(said).filter((value): value is string => typeof value === 'string' && value.startsWith(issuer));
  const expected = [...ours.map((address) => address.replace(issuer, example)), example + discoveryPath];
  expect(expected.length).toBeGreaterThan(9);
  expect([...(blocksOf('text')[0] ?? '').matchAll(/https:\S+/g)].map(([address]) => address).sort()).toEqual(expected.sort());
});

test('what it says to choose is supported', async () => {
  const said = (await (await fetch(service.url + discoveryPath)).json()) as Record<string, string[]>;
  const chosen = (label: string) => new RegExp(`^${label} +(.+)$`, 'm').exec(blocksOf('text')[0] ?? '')?.[1]?.split(';')[0]?.trim().split(/ or | /); // prettier-ignore
  const of = { Scopes: 'scopes', 'Flow, response type': 'response_types', 'Response mode': 'response_modes', PKCE: 'code_challenge_methods', 'Client authentication': 'token_endpoint_auth_methods', 'ID token signature': 'id_token_signing_alg_values' }; // prettier-ignore
  for (const [label, name] of Object.entries(of))
    expect(said[`${name}_supported`]).toEqual(expect.arrayContaining(chosen(label) ?? ['nothing']));
});
