import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { link, links, type Api } from './management.js';
import { freePort } from './service.js';

/** `examples/mcp-server` as an API resource of the service, and what its clients should say of themselves. */
export type Notes = { readonly resource: string; stop(): void };

/** What a client that nobody registered says of itself (RFC 7591 2). */
export const clientMetadata = (redirectUrl: string) => ({
  client_name: 'Desk',
  redirect_uris: [redirectUrl],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
});

/** Changes the service's only environment. */
export async function setEnvironmentOf(api: Api, attributes: Record<string, unknown>): Promise<void> {
  const { body } = await api.get('/environments');
  const { id } = (body['data'] as { id: string }[])[0] as { id: string };
  const answer = await api.update('environments', id, attributes);
  if (answer.status !== 200) throw new Error(answer.text);
}

/** The attributes of the API resource as docs/guides/mcp.md has them. */
async function guideAttributes(): Promise<Record<string, unknown>> {
  const [, block = ''] = /```json\n([\s\S]*?)```/.exec(await readFile('docs/guides/mcp.md', 'utf8')) ?? [];
  return (JSON.parse(block) as { data: { attributes: Record<string, unknown> } }).data.attributes;
}

/** Creates the API resource, lets the person have all its permissions, and starts the server; resolves when it listens. */
export async function startNotes(api: Api, person_id: string): Promise<Notes> {
  const resource = `http://localhost:${await freePort()}/mcp`;
  const { id, attributes } = await api.create('api_resources', { ...(await guideAttributes()), identifier: resource });
  const permissions = await Promise.all(
    ['notes:read', 'notes:write'].map((name) => api.create('permissions', { name }, { api_resource: link('api_resource', id as string) })),
  );
  const ids = permissions.map((permission) => permission['id'] as string);
  const role = await api.create('roles', { name: 'author' }, { permissions: links('permission', ...ids) });
  const answer = await api.post(`/users/${person_id}/relationships/roles`, links('role', role['id'] as string));
  if (answer.status >= 400) throw new Error(answer.text);
  const { metadata_url } = attributes as { metadata_url: string };
  const started = spawn(process.execPath, ['examples/mcp-server/server.js'], {
    env: { PATH: process.env['PATH'], ISSUER: api.origin, RESOURCE: resource, METADATA_URL: metadata_url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(started.stdout, 'data');
  return { resource, stop: () => void started.kill('SIGTERM') };
}
