import { createServer, type AddressInfo } from 'node:net';

/** Answers every POST on loopback with 200, for next to nothing. */
export async function startSink() {
  const answer = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (data) => {
      for (let at = data.indexOf('POST '); at >= 0; at = data.indexOf('POST ', at + 5)) socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}
