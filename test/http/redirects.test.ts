// A redirect is its head alone: nothing follows it that a client on the same connection could take for the next answer.
import { connect } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { sharedService } from '../support/shared-service.js';

const service = sharedService();

/** All that the service sends on one connection for these requests, the last of which closes it. */
async function answersTo(...requests: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const sent = requests.map((request, index) => {
    const connection = index === requests.length - 1 ? 'Connection: close\r\n' : '';
    return `${request} HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\nAccept: text/html\r\n${connection}\r\n`;
  });
  socket.write(sent.join(''));
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await once(socket, 'close');
  return text;
}

const withoutOwn = (head: string) =>
  head
    .split('\r\n')
    .filter((line) => !/^(date|x-request-id|set-cookie|connection|keep-alive):/i.test(line))
    .join('\n');

test('a redirect says that it has no body, and of what type none is; the next answer of the connection follows at once', async () => {
  const answers = await answersTo('GET /account', 'GET /account', 'HEAD /login', 'GET /account');
  const [first = '', second = '', page = '', last = '', ...more] = answers.split('\r\n\r\n');
  expect(more).toEqual(['']);
  expect(first).toMatch(/^HTTP\/1\.1 303 See Other\r\n/);
  expect(first).toMatch(/^location: \/login\?/im);
  expect(first).toMatch(/^content-length: 0$/im);
  expect(first).not.toMatch(/^(content-type|transfer-encoding):/im);
  expect(first).toMatch(/^x-content-type-options: nosniff$/im);
  expect(first).toMatch(/^x-request-id: [\w-]{36}$/im);
  expect([withoutOwn(second), withoutOwn(last)]).toEqual([withoutOwn(first), withoutOwn(first)]);
  expect(page).toMatch(/^HTTP\/1\.1 200 /);
});

test('where it leads stays one header, whatever was asked for', async () => {
  const [head = ''] = (await answersTo('GET /account?a=%0d%0aSet-Cookie:%20evil=1&b=%E2%82%AC&c=%00')).split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 303 /);
  expect(head.match(/^location: [\x21-\x7e]+$/gim)).toHaveLength(1);
  expect(head).not.toMatch(/^set-cookie: evil/im);
});
