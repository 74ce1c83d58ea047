// The command line at a service that isn't ours, and beside programs that aren't.
import { createServer, request, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createProgram } from '../../src/programs/cli/program.js';
import { directoryOfTest } from '../support/temporary-directory.js';

async function listening(answer: RequestListener): Promise<string> {
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const json =
  (of: (path: string, url: string) => unknown): RequestListener =>
  (incoming: IncomingMessage, response) => {
    const body = of((incoming.url ?? '').split('?')[0] as string, `http://${incoming.headers.host}`);
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}));
  };

/** What a command says at a service. */
async function run(url: string, words: readonly string[], seen: (line: string) => void = () => {}): Promise<string> {
  const printed: string[] = [];
  const print = (text: string) => {
    printed.push(text);
    seen(text);
  };
  const variables = { XDG_CONFIG_HOME: directoryOfTest(), IDP_TOKEN: 'a token' };
  await createProgram(print, { exit: () => undefined, variables })
    .configureOutput({ writeErr: () => undefined })
    .parseAsync(['--url', url, ...words], { from: 'user' });
  return printed.join('\n');
}

const asClient = ['--client-id', 'c', '--client-secret', 'a secret of the client'];

test('a service that sends on to another address gets no token, secret or document carried there (attack 73.1984)', async () => {
  const reached: string[] = [];
  const other = await listening((incoming, response) => {
    reached.push(incoming.url ?? '');
    response.end('{}');
  });
  const url = await listening((incoming, response) => void response.writeHead(307, { location: `${other}${incoming.url}` }).end());
  for (const words of [[...asClient, 'users', 'list'], ['users', 'list'], ['users', 'create', '--email', 'a@example.com'], ['login']])
    await expect(run(url, words)).rejects.toMatchObject({ exit: 69, message: expect.stringContaining('redirect') });
  expect(reached).toEqual([]);
});

const hostile = '\u001b]0;owned\u0007\u009b2J\u202e\nfake';
// oxlint-disable-next-line no-control-regex -- what a terminal obeys
const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

test('what a service says moves no cursor and makes no lines, whatever command asks (attack 73.1985)', async () => {
  const attributes = { name: hostile, email: hostile, kind: hostile, status: hostile, event_type: hostile, created_at: hostile };
  const record = { type: 'x', id: hostile, attributes };
  const change = { action: 'create', kind: hostile, key: hostile, attributes: { [hostile]: [null, hostile] } };
  const url = await listening(
    json((path) => {
      if (path === '/api/config') return { meta: { document: { version: 1, clients: [{ client_id: 'c', name: hostile }] } } };
      if (path === '/api/config/drift') return { meta: { applied: {}, changes: [change], summary: {}, state: hostile } };
      return { data: path.split('/').length > 3 || path === '/api/clients' ? record : [record], included: [], links: {}, meta: {} };
    }),
  );
  const commands = ['list-deliveries', 'list-authenticators', 'create-client x', 'config export', 'config drift', 'users list'];
  for (const words of commands)
    for (const output of ['table', 'json'])
      expect([words, output, obeyed.exec(await run(url, ['--output', output, ...words.split(' ')]))]).toEqual([words, output, null]);
  for (const words of ['list-deliveries', 'list-authenticators', 'users list'])
    expect([words, (await run(url, words.split(' '))).split('\n').length]).toEqual([words, 2]);
});

test('a service’s words of a sign-in by device are shown as they are (attack 73.1985)', async () => {
  const url = await listening(
    json((path, own) => {
      const device = { device_code: 'd', user_code: hostile, verification_uri: `${own}/${hostile}`, expires_in: 60, interval: 1 };
      if (path === '/.well-known/openid-configuration')
        return { issuer: own, device_authorization_endpoint: `${own}/device`, token_endpoint: `${own}/token` };
      if (path === '/.well-known/oauth-protected-resource/api') return { resource: `${own}/api`, scopes_supported: ['x'] };
      return path === '/device' ? device : undefined;
    }),
  );
  const lines: string[] = [];
  await expect(run(url, ['login', '--device'], (line) => lines.push(line))).rejects.toThrow();
  expect(lines).toHaveLength(1);
  expect([lines[0]?.includes('owned'), obeyed.exec(lines[0] ?? ''), lines[0]?.split('\n').length]).toEqual([true, null, 1]);
});

test('what pages and programs of the machine send to the port of a sign-in ends it not (attack 73.1986)', async () => {
  const url = await listening(
    json((path, own) => {
      if (path === '/.well-known/openid-configuration')
        return { issuer: own, authorization_endpoint: `${own}/authorize`, token_endpoint: `${own}/token` };
      return path === '/token'
        ? { access_token: 't', token_type: 'Bearer', expires_in: 60 }
        : { resource: `${own}/api`, scopes_supported: ['x'] };
    }),
  );
  const send = (port: string, path: string) =>
    new Promise<number>((resolve, reject) => {
      request({ host: '127.0.0.1', port, path }, (answer) => resolve(answer.resume().statusCode ?? 0))
        .on('error', reject)
        .end();
    });
  let statuses: Promise<number[]> | null = null;
  const said = await run(url, ['login', '--no-browser'], (line) => {
    const address = /^Sign in at (\S+)$/.exec(line)?.[1];
    if (address === undefined) return;
    const { searchParams } = new URL(address);
    const { port } = new URL(searchParams.get('redirect_uri') ?? '');
    statuses = (async () => {
      const found = [];
      for (const path of ['//', '*', '//[', '/callback', '/callback?state=x&code=c']) found.push(await send(port, path));
      found.push(
        await send(port, `/callback?${new URLSearchParams({ state: searchParams.get('state') ?? '', code: 'c', iss: url }).toString()}`),
      );
      return found;
    })();
  });
  expect(await (statuses as unknown as Promise<number[]>)).toEqual([400, 400, 400, 400, 400, 200]);
  expect(said).toContain('Signed in at');
});
