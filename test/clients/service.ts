// The built service with a PostgreSQL of its own, and somebody to sign in.
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, setGlobalDispatcher } from 'undici';
import { callApi, type Access } from '../../src/programs/cli/api.js';
import { clientAccess } from '../../src/programs/cli/credentials.js';
import { startTlsProxy } from '../support/tls-proxy.js';
import { eventually } from '../support/webhooks.js';

export const person = { email: 'ada@example.com', password: 'a password of the client trials', name: 'Ada Lovelace' };

/** Some libraries take no plain http, not even on localhost. */
export type Scheme = 'http' | 'https';

export type Service = {
  readonly issuer: string;
  /** The file with the certificate of its TLS; null on http. */
  readonly certificate: string | null;
  readonly personId: string;
  /** Creates what a guide's JSON document describes. @returns its id and attributes, the secret among them */
  create(path: string, document: unknown): Promise<{ readonly id: string; readonly attributes: Record<string, unknown> }>;
  stop(): Promise<void>;
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** TLS in front of a service, which this process trusts; null on http. */
async function startTls(scheme: Scheme, port: number, target: number, directory: string) {
  if (scheme === 'http') return null;
  const proxy = await startTlsProxy(port, target);
  setGlobalDispatcher(new Agent({ connect: { ca: proxy.certificate } }));
  const certificate = join(directory, 'certificate.pem');
  await writeFile(certificate, proxy.certificate);
  return { certificate, close: () => proxy.close() };
}

/** Starts `dist/main.js` (`npm run build` first), on https behind a proxy; resolves when it is ready and the person is there. */
export async function startService(directory: string, scheme: Scheme): Promise<Service> {
  const port = await freePort();
  const inner = scheme === 'https' ? await freePort() : port;
  const issuer = `${scheme}://localhost:${port}`;
  const [clientId, clientSecret] = ['management', 'a secret of the client trials'];
  const access: Access = clientAccess(issuer, clientId, clientSecret, {});
  const log = join(directory, `service-${scheme}.log`);
  const dataDir = await mkdtemp(join(tmpdir(), 'identity-provider-clients-'));
  const child = spawn(process.execPath, ['dist/main.js'], {
    env: {
      PATH: process.env['PATH'],
      PORT: String(inner),
      BASE_URL: issuer,
      DATA_DIR: dataDir,
      MANAGEMENT_CLIENT_ID: clientId,
      MANAGEMENT_CLIENT_SECRET: clientSecret,
      // One person signs in to twenty applications within a few minutes.
      RATE_LIMITS: 'off',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const output = createWriteStream(log);
  child.stdout.pipe(output);
  child.stderr.pipe(output);
  const tls = await startTls(scheme, port, inner, directory);
  const stop = async () => {
    await tls?.close();
    child.kill('SIGTERM');
    await exited;
    await rm(dataDir, { recursive: true, force: true });
  };
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}; see ${log}`);
    return fetch(`http://localhost:${inner}/readyz`).then((answer) => answer.ok, () => false); // prettier-ignore
  };
  const create = async (path: string, document: unknown) => {
    const { data } = await callApi(access, 'POST', path, document as Record<string, unknown>);
    return (Array.isArray(data) ? data[0] : data) as Awaited<ReturnType<Service['create']>>;
  };
  try {
    await eventually(isReady, 120_000, 100);
    const { email, password } = person;
    const { id: personId } = await create('/users', {
      data: { type: 'user', attributes: { email, password, email_verified: true, first_name: 'Ada', last_name: 'Lovelace' } },
    });
    return { issuer, certificate: tls?.certificate ?? null, personId, create, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
