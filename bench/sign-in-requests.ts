// `npx tsx bench/sign-in-requests.ts [OTHER ...]`: what each request of a whole sign-in costs, of this checkout and in turns of others (built, with their packages).
// Three hundred people go through it together, request by request, so that what the process does meanwhile is that request's. Prints microseconds a request.
import { randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { openServer } from './database.js';
import { Connection, requestText, type Reply } from './driver.js';
import { median } from './measure.js';
import { familyTime, processorTime, ranOnProcessor, usedBetween } from './processor-time.js';
import { table } from './report.js';
import { redeemCode } from './scenarios.js';
import { authorizePath, challengeOf } from './sign-in-scenarios.js';
import { cheapenPasswords, keepCheapHashes } from './targets/cheap-hash.js';
import type { startProduct } from './targets/product.js';
import { fixtures, pin, type Target } from './targets/target.js';
import { formOf } from './visit.js';

const people = 320;
const connections = 16;
const warmUps = 4;
const rounds = 5;

/** Somebody on the way: what the browser keeps, and the last answer. */
class Person {
  readonly verifier = randomBytes(32).toString('base64url');
  readonly #cookies = new Map<string, string>();
  location = '';
  html = '';

  constructor(
    readonly connection: Connection,
    readonly target: Target,
    readonly email: string,
  ) {}

  async send(method: 'GET' | 'POST', address: string, fields?: Record<string, string>): Promise<void> {
    const origin = `http://localhost:${this.target.port}`;
    const { pathname, search, host } = new URL(address, origin);
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { Host: host, Accept: 'text/html', ...(cookie !== '' && { Cookie: cookie }), ...(fields && { Origin: origin }) };
    const reply: Reply = await this.connection.send(requestText(method, pathname + search, headers, fields));
    if (reply.status !== 200 && reply.status !== 303) throw new Error(`${address} answered ${reply.head}\n${reply.body.slice(0, 300)}`);
    for (const [, name = '', value = ''] of reply.head.matchAll(/\r\nset-cookie: ([^=]+)=([^;\r]*)/gi)) this.#cookies.set(name, value);
    this.location = /\r\nlocation: (\S+)/i.exec(reply.head)?.[1] ?? '';
    this.html = reply.body;
  }

  /** Posts the form of the page before the person. */
  submit(fields: Record<string, string>): Promise<void> {
    const { action, hidden } = formOf({ path: '/', html: this.html });
    return this.send('POST', action, { ...hidden, ...fields });
  }
}

const requests: readonly (readonly [name: string, send: (person: Person) => Promise<unknown>])[] = [
  [
    'authorize',
    (one) =>
      one.send('GET', authorizePath(one.target, one.target.othersClient, { prompt: 'consent', code_challenge: challengeOf(one.verifier) })),
  ],
  ['sign-in page', (one) => one.send('GET', one.location)],
  ['password', (one) => one.submit({ email: one.email, password: fixtures.person.password })],
  ['consent page', (one) => one.send('GET', one.location)],
  ['consent', (one) => one.submit({ decision: 'allow' })],
  [
    'token',
    ({ connection, target, location, verifier }) =>
      redeemCode(
        connection,
        target,
        { id: target.othersClient.id, secret: null },
        new URL(location).searchParams.get('code') ?? '',
        verifier,
      ),
  ],
];

const measures = ['event loop', 'processor', 'PostgreSQL'] as const;
type Cost = Readonly<Record<(typeof measures)[number], number>>;

/** All people go through the story. @returns what each of its requests cost, in microseconds */
async function walk(target: Target, postgres: number): Promise<Cost[]> {
  const lines = Array.from({ length: connections }, () => new Connection(target.port));
  const groups = lines.map((line, index) =>
    Array.from({ length: people / connections }, () => new Person(line, target, fixtures.people[index] as string)),
  );
  const costs: Cost[] = [];
  for (const [, send] of requests) {
    const before = { loop: ranOnProcessor(target.pid), process: processorTime(target.pid), postgres: familyTime(postgres) };
    await Promise.all(
      groups.map(async (group) => {
        for (const person of group) await send(person);
      }),
    );
    const each = (nanoseconds: number) => nanoseconds / 1000 / people;
    costs.push({
      'event loop': each(ranOnProcessor(target.pid) - before.loop),
      processor: each(processorTime(target.pid) - before.process),
      PostgreSQL: each(usedBetween(before.postgres, familyTime(postgres))),
    });
  }
  for (const line of lines) line.close();
  return costs;
}

const folders = [fileURLToPath(new URL('..', import.meta.url)), ...process.argv.slice(2).map((folder) => resolve(folder))];
const server = await openServer(null, false);
const log = openSync('/dev/null', 'w');
const targets: Target[] = [];
try {
  pin(process.pid, '1');
  pin(server.pid, '1');
  for (const [index, folder] of folders.entries()) {
    const { href } = pathToFileURL(join(folder, 'bench/targets/product.ts'));
    const { startProduct: start } = (await import(href)) as { startProduct: typeof startProduct };
    const env = { RATE_LIMIT_LOGIN: '100000000/60' };
    const databaseUrl = await server.create(`sign_in_${index}`);
    targets.push(await start({ databaseUrl, processors: '0', log, env, nodeArguments: keepCheapHashes, prepare: cheapenPasswords }));
  }
  const walks = targets.map(() => [] as Cost[][]);
  for (let round = -warmUps; round < rounds; round++) {
    const order = [...targets.entries()];
    for (const [index, target] of round % 2 === 0 ? order : order.toReversed()) {
      const costs = await walk(target, server.pid);
      if (round >= 0) walks[index]?.push(costs);
    }
  }
  const head = ['request', ...folders.flatMap(() => measures)];
  const rows = requests.map(
    ([name], at) =>
      [name, ...walks.flatMap((all) => measures.map((measure) => median(all.map((costs) => costs[at]?.[measure] ?? 0))))] as [
        string,
        ...number[],
      ],
  );
  const sums = head.slice(1).map((_, column) => rows.reduce((sum, row) => sum + Number(row[column + 1]), 0));
  console.log(
    table([
      head,
      ...[...rows, ['together', ...sums]].map(([name, ...costs]) => [String(name), ...costs.map((us) => Number(us).toFixed(0))]),
    ]),
  );
} finally {
  for (const target of targets) await target.stop();
  await server.stop();
  closeSync(log);
}
process.exit();
