import { createHash } from 'node:crypto';
import { Connection, requestText, type Operation } from './driver.js';
import { scenarios } from './scenarios.js';
import type { Product } from './targets/product.js';

/** A part of the mixed load: `share` of all operations, on `connections` of their own. */
export type Activity = {
  readonly name: string;
  readonly share: number;
  readonly connections: number;
  open(target: Product): Promise<Operation>;
};

/** The client that reads over the Management API, and the person who signs in. */
export const manager = { id: 'bench-manager', secret: 'the secret of the management client of the bench' };
export const person = { email: 'bench@example.com', password: 'a password of the bench' };

const host = (target: Product) => ({ Host: `localhost:${target.port}` });

const basic = ({ id, secret }: { id: string; secret: string }) =>
  `Basic ${Buffer.from(`${id}:${encodeURIComponent(secret).replaceAll('%20', '+')}`).toString('base64')}`;

function expectStatus(reply: { status: number; body: string }, ...allowed: number[]): void {
  if (!allowed.includes(reply.status))
    throw new Error(`expected ${allowed.join(' or ')}, got ${reply.status}: ${reply.body.slice(0, 300)}`);
}

/** A sign-in with the right password: one hash, one session. */
async function openSignIn(target: Product): Promise<Operation> {
  const body = JSON.stringify(person);
  const head = requestText('POST', '/login', {
    ...host(target),
    'Content-Type': 'application/json',
    Origin: `http://localhost:${target.port}`,
  });
  const text = `${head.slice(0, -2)}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  return async (connection) => expectStatus(await connection.send(text), 200);
}

/** The page that a person without a session sees: rendered, not answered from memory. */
async function openSignInPage(target: Product): Promise<Operation> {
  const text = requestText('GET', '/login', host(target));
  return async (connection) => expectStatus(await connection.send(text), 200);
}

const apiPaths = [
  '/api/users?page[size]=20',
  '/api/clients',
  '/api/roles',
  '/api/audit_logs?page[size]=50',
  '/api/api_resources?include=permissions',
];

/** What a request of the Management API bears, with a new token of the manager. */
export async function managementHeaders(connection: Connection, target: Product): Promise<Record<string, string>> {
  const fields = { grant_type: 'client_credentials', resource: `http://localhost:${target.port}/api` };
  const reply = await connection.send(requestText('POST', '/oauth/token', { ...host(target), Authorization: basic(manager) }, fields));
  expectStatus(reply, 200);
  const { access_token } = JSON.parse(reply.body) as { access_token: string };
  return { ...host(target), Authorization: `Bearer ${access_token}`, Accept: 'application/vnd.api+json' };
}

/** Reads of the Management API, with a new token every hundred. */
async function openManagementReads(target: Product): Promise<Operation> {
  let turn = 0;
  let headers: Record<string, string> = {};
  return async (connection) => {
    if (turn % 100 === 0) headers = await managementHeaders(connection, target);
    const path = apiPaths[turn++ % apiPaths.length] as string;
    expectStatus(await connection.send(requestText('GET', path, headers)), 200);
  };
}

/** A token is issued, revoked, and dead. */
async function openRevocation(target: Product): Promise<Operation> {
  const authorized = { ...host(target), Authorization: basic(target.client) };
  const issue = requestText('POST', '/oauth/token', authorized, {
    grant_type: 'client_credentials',
    resource: target.resources.opaque,
    scope: 'read',
  });
  return async (connection) => {
    const { access_token } = JSON.parse((await connection.send(issue)).body) as { access_token: string };
    expectStatus(await connection.send(requestText('POST', '/oauth/revoke', authorized, { token: access_token })), 200);
    const reply = await connection.send(requestText('POST', '/oauth/introspect', authorized, { token: access_token }));
    if (!reply.body.includes('"active":false')) throw new Error(`a revoked token is alive: ${reply.body}`);
  };
}

/** Requests that are refused: each time another secret, token and path, so that whatever remembered them would show. */
async function openRefusals(target: Product): Promise<Operation> {
  let turn = 0;
  return async (connection) => {
    const odd = createHash('sha256').update(`${target.pid} ${turn++} ${Math.random()}`).digest('base64url');
    const text =
      turn % 3 === 0
        ? requestText('GET', `/nowhere/${odd}?${odd}`, host(target))
        : turn % 3 === 1
          ? requestText('POST', '/oauth/introspect', { ...host(target), Authorization: basic(target.client) }, { token: `at_${odd}` })
          : requestText('GET', '/oauth/userinfo', { ...host(target), Authorization: `Bearer at_${odd}` });
    expectStatus(await connection.send(text), 200, 401, 404);
  };
}

const shares: Readonly<Record<string, number>> = {
  cc_jwt: 12,
  cc_opaque: 14,
  introspect: 20,
  introspect_jwt: 8,
  code_flow: 8,
  refresh: 8,
  userinfo: 10,
  jwks: 4,
  discovery: 4,
};

/** Every token route, sign-ins, pages, management reads, revocations and refusals. The shares are per hundred. */
export const mix: readonly Activity[] = [
  ...scenarios
    .filter(({ name }) => shares[name] !== undefined)
    .map(({ name, open }) => ({ name, share: shares[name] as number, connections: 2, open })),
  { name: 'sign_in', share: 1, connections: 1, open: openSignIn },
  { name: 'sign_in_page', share: 2, connections: 1, open: openSignInPage },
  { name: 'management_read', share: 3, connections: 1, open: openManagementReads },
  { name: 'revocation', share: 3, connections: 1, open: openRevocation },
  { name: 'refusal', share: 3, connections: 1, open: openRefusals },
];

/** What the load has come to. Failures by their text, the first hundred characters of it. */
export type Tally = { done: number; failed: number; readonly failures: Map<string, number>; readonly byActivity: Map<string, number> };

export const newTally = (): Tally => ({ done: 0, failed: 0, failures: new Map(), byActivity: new Map() });

/**
 * Runs one connection's part at a steady rate until `signal` says stop. A failed operation is counted and the connection, with what
 * the operation knew, is made anew; when the service can't keep up, operations are late rather than many.
 */
export async function keepUp(activity: Activity, target: Product, perSecond: number, tally: Tally, signal: AbortSignal): Promise<void> {
  const pauseMs = 1000 / perSecond;
  let connection: Connection | null = null;
  let operation: Operation | null = null;
  let due = performance.now() + Math.random() * pauseMs;
  while (!signal.aborted) {
    const early = due - performance.now();
    due = Math.max(due, performance.now() - 1000) + pauseMs;
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    if (signal.aborted) break;
    try {
      operation ??= await activity.open(target);
      connection ??= new Connection(target.port);
      await operation(connection);
      tally.done += 1;
      tally.byActivity.set(activity.name, (tally.byActivity.get(activity.name) ?? 0) + 1);
    } catch (error) {
      tally.failed += 1;
      const text = `${activity.name}: ${error instanceof Error ? error.message : String(error)}`.slice(0, 160);
      if (tally.failures.size < 50) tally.failures.set(text, (tally.failures.get(text) ?? 0) + 1);
      connection?.close();
      connection = operation = null;
    }
  }
  connection?.close();
}
