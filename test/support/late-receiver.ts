import { createServer, type Server } from 'node:http';

/** A receiver that is started on a given port, so that deliveries fail before and arrive after. */
export async function listen(port: number): Promise<{ server: Server; posts: string[] }> {
  const posts: string[] = [];
  const server = createServer((req, res) => {
    req.on('data', (chunk: Buffer) => posts.push(chunk.toString()));
    req.on('end', () => res.writeHead(200).end('thank you'));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { server, posts };
}

/** Ends it with the connections that are open. */
export const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
