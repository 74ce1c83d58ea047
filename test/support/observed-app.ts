import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp } from '../../src/app.js';
import type { Deps } from '../../src/domain/context.js';
import { observeStatements } from './statements.js';

/** The service at an address of its own, whose requests' statements are noted. */
export type ObservedApp = {
  /** On `localhost`: the address that forms are posted from must be that of the host. */
  readonly origin: string;
  /** The statements of the requests since the last call; those of background loops are not among them. */
  take(): string[];
  close(): Promise<void>;
};

/** Starts another app on the dependencies of a service that runs; one at a time in a process. */
export async function observeApp(deps: Deps): Promise<ObservedApp> {
  let statements: string[] = [];
  // The statements of the request that runs in this asynchronous context; background loops run in none.
  const request = new AsyncLocalStorage<string[]>();
  const observe = (text: string) => void request.getStore()?.push(text);
  const stopObserving = observeStatements(observe);
  deps.db.knex.on('query', ({ sql }: { sql: string }) => observe(sql));
  const app = createApp(deps);
  const server = createServer((req, res) => request.run(statements, () => app.app(req, res)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    take() {
      const taken = statements;
      statements = [];
      return taken;
    },
    async close() {
      stopObserving();
      server.close();
      await app.close();
    },
  };
}
