import { randomBytes } from 'node:crypto';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { selfSigned } from '../support/certificates.js';
import { eventually } from '../support/webhooks.js';
import { fill, upWithinMs, variablesOf, type Cluster } from './cluster.js';
import { startMachine, type Machine } from './machine.js';

const addresses = { app1: '10.0.0.11', app2: '10.0.0.12' };
const balancerAddress = '10.0.0.10';
export const origin = 'https://id.example.com';
export const administrator = { email: 'admin@example.com', password: 'a password of the high availability test' };
export const managementClient = { id: 'management', client_secret: 'the secret of the management client' };

/** Status 0: no answer within the time, or a connection that was refused or broken off. */
export type Answer = {
  readonly status: number;
  readonly text: string;
  readonly cookies: readonly string[];
  readonly location: string | null;
};

/** Where the service is asked. */
export type Door = {
  /** Never throws. */
  send(method: string, path: string, headers?: Readonly<Record<string, string>>, body?: string): Promise<Answer>;
};

/** The service on a machine of its own, with a HAProxy that leads it to the database; asked as the balancer in front of it does. */
export type Replica = Door & { readonly machine: Machine; readonly process: ChildProcess };

/** Longer than the service lets anybody wait. */
const patienceMs = 15_000;

const { host } = new URL(origin);
/** What the balancer adds, for those who ask a replica in its place. */
const forwarded = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https', 'x-forwarded-host': host };

export function createSend(
  base: string,
  own: Readonly<Record<string, string>>,
  tls: { ca?: string; servername?: string } = {},
): Door['send'] {
  const connect = { timeout: 2000, ...tls };
  const dispatcher = new Agent({ connections: 256, headersTimeout: patienceMs, bodyTimeout: patienceMs, connect });
  return async (method, path, headers = {}, body) => {
    try {
      const options = { dispatcher, method: method as 'GET', headers: { origin, ...own, ...headers }, body: body ?? null };
      const answer = await request(base + path, options);
      const text = await answer.body.text();
      const cookies = [answer.headers['set-cookie'] ?? []].flat();
      return { status: answer.statusCode, text, cookies, location: (answer.headers['location'] as string | undefined) ?? null };
    } catch (error) {
      return { status: 0, text: String(error), cookies: [], location: null };
    }
  };
}

async function startReplica(machine: Machine, settings: Readonly<Record<string, string>>, certificate: string): Promise<Replica> {
  await machine.run(['install', '-D', '-m', '644', certificate, '/etc/ssl/identity/ca.crt']);
  await machine.configure('etc/haproxy/haproxy.cfg', await fill('haproxy.cfg', {}));
  machine.start('haproxy', ['/usr/sbin/haproxy', '-db', '-f', '/etc/haproxy/haproxy.cfg']);
  await machine.configure('etc/identity-provider.env', await fill('service.env', settings), 0o600);
  const environment = {
    ...variablesOf(await machine.configuration('etc/identity-provider.env')),
    // Beyond the example: an account and a client to begin with, as many requests as we like, and a receiver on this network.
    ADMIN_EMAIL: administrator.email,
    ADMIN_PASSWORD: administrator.password,
    MANAGEMENT_CLIENT_ID: managementClient.id,
    MANAGEMENT_CLIENT_SECRET: managementClient.client_secret,
    RATE_LIMITS: 'off',
    ALLOW_PRIVATE_NETWORK: 'on',
  };
  const child = machine.start('service', [process.execPath, 'dist/main.js'], { environment, directory: process.cwd() });
  return { machine, process: child, send: createSend(`http://${machine.address}:3000`, forwarded) };
}

/** Starts two replicas of the built service on the cluster; resolves when both are ready. */
export async function startReplicas(cluster: Cluster, directory: string): Promise<Replica[]> {
  const settings = { DATABASE_PASSWORD: cluster.password, SECRET_KEY: randomBytes(32).toString('base64') };
  const replicas: Replica[] = [];
  for (const [name, address] of Object.entries(addresses)) {
    const machine = await startMachine(name, address, join(directory, name));
    replicas.push(await startReplica(machine, settings, cluster.authority));
  }
  for (const { machine, process: child, send } of replicas) {
    await eventually(
      async () => {
        if (child.exitCode !== null) throw new Error(`the service on ${machine.name} ended:\n${machine.log('service')}`);
        return (await send('GET', '/readyz')).status === 200;
      },
      upWithinMs,
      100,
    );
  }
  return replicas;
}

/** Starts the balancer of examples/proxies in front of the replicas, as the file is; resolves when it leads to one that is ready. */
export async function startBalancer(directory: string): Promise<Door> {
  const machine = await startMachine('edge', balancerAddress, join(directory, 'edge'));
  const { cert, key } = selfSigned({ name: host });
  await machine.configure('etc/haproxy/id.example.com.pem', cert + key, 0o600);
  await machine.configure('etc/haproxy/haproxy.cfg', await readFile('examples/proxies/haproxy.cfg', 'utf8'));
  machine.start('haproxy', ['/usr/sbin/haproxy', '-db', '-f', '/etc/haproxy/haproxy.cfg']);
  const send = createSend(`https://${balancerAddress}`, { host }, { ca: cert, servername: host });
  await eventually(async () => (await send('GET', '/readyz')).status === 200, upWithinMs, 100);
  return { send };
}
