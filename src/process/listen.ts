import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** `choose`: how another port is chosen. */
type Address = { readonly host: string; readonly port: number; readonly choose?: string };

/** The address to listen on can't be had; the message says what to do. */
export class AddressUnavailableError extends Error {}

const problems: Readonly<Record<string, (address: Address) => string>> = {
  EADDRINUSE: ({ port, choose = 'PORT=' }) =>
    `port ${port} is in use: stop the program that listens there, or choose another port with ${choose}${port + 1}.`,
  EACCES: ({ port }) => `port ${port} is not allowed to this user: choose one from 1024 on with PORT.`,
  EADDRNOTAVAIL: ({ host }) => `HOST ${host} is no address of this machine.`,
};

/** @throws {AddressUnavailableError} when the address is in use, or not to be had */
export async function listenOn(server: Server, address: Address): Promise<void> {
  server.listen(address.port, address.host);
  await once(server, 'listening').catch((error: unknown) => {
    const problem = problems[(error as NodeJS.ErrnoException).code ?? ''];
    throw problem ? new AddressUnavailableError(problem(address)) : error;
  });
}

/** Looks whether a program can listen there, before anything else is started. @throws {AddressUnavailableError} */
export async function requireFreeAddress(address: Address): Promise<void> {
  const server = createServer();
  await listenOn(server, address);
  await new Promise((resolve) => server.close(resolve));
}
