import { closedLoop, Connection, requestText, type Operation } from './driver.js';
import { median, percentile, type Plan } from './measure.js';
import { scenarios } from './scenarios.js';
import type { Target } from './targets/target.js';

/** What signing keeps while people sign in all the time. */
export type LoginsResult = { readonly alone: number; readonly beside: number; readonly logins: number; readonly text: string };

const concurrent = 16;

/** JSON sign-ins with a wrong password: each costs one password hash, none ends in a session. Busy answers count as none. */
export function signIn(target: Target, counted: { logins: number }): Operation {
  const body = JSON.stringify({ email: `nobody-${Math.random()}@example.com`, password: 'never the right one' });
  const head = requestText('POST', '/login', { Host: `localhost:${target.port}`, 'Content-Type': 'application/json' });
  const text = `${head.slice(0, -2)}Origin: http://localhost:${target.port}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  return async (connection) => {
    const reply = await connection.send(text);
    if (reply.status === 401) counted.logins += 1;
    else if (reply.status !== 503 && reply.status !== 429) throw new Error(`${reply.status}: ${reply.body.slice(0, 300)}`);
  };
}

/** Tokens per second with and without sixteen sign-ins in flight (run it with rate limits for /login lifted). */
export async function measureLogins(target: Target, plan: Plan): Promise<LoginsResult> {
  const scenario = scenarios.find(({ name }) => name === 'cc_jwt');
  if (!scenario) throw new Error('cc_jwt is missing');
  const sign = await Promise.all(Array.from({ length: plan.connections }, () => scenario.open(target)));
  const seconds = plan.seconds * 2;
  await closedLoop(target.port, sign, plan.warmUp);
  const alone = await closedLoop(target.port, sign, seconds);
  const counted = { logins: 0 };
  const [beside] = await Promise.all([
    closedLoop(target.port, sign, seconds),
    closedLoop(
      target.port,
      Array.from({ length: concurrent }, () => signIn(target, counted)),
      seconds,
    ),
  ]);
  const rate = (load: { operations: number; seconds: number }) => load.operations / load.seconds;
  const share = (rate(beside) / rate(alone)) * 100;
  const text =
    `signing alone ${rate(alone).toFixed(0)}/s; with ${concurrent} sign-ins in flight ${rate(beside).toFixed(0)}/s (${share.toFixed(0)} %, ` +
    `aim 60 %) beside ${(counted.logins / seconds).toFixed(0)} sign-ins/s`;
  return { alone: rate(alone), beside: rate(beside), logins: counted.logins / seconds, text };
}

/** What came of sign-ins that all came at once: medians of the rounds, times in milliseconds. */
export type SignInsResult = {
  readonly at_once: number;
  readonly refused: number;
  readonly p50: number;
  readonly slowest: number;
  /** Of the slowest refusal. */
  readonly refused_after: number;
  /** Of token requests, four at a time, while they were worked off. */
  readonly tokens_p99: number;
};

/** So many sign-ins at once, each on a connection that is open already, beside token requests (with rate limits for /login lifted). */
export async function measureSignIns(target: Target, atOnce: number, rounds: number): Promise<SignInsResult> {
  const scenario = scenarios.find(({ name }) => name === 'cc_jwt');
  if (!scenario) throw new Error('cc_jwt is missing');
  const tokens = await Promise.all(Array.from({ length: 4 }, () => scenario.open(target)));
  await closedLoop(target.port, tokens, 1);
  const found: SignInsResult[] = [];
  for (let round = 0; round < rounds; round++) {
    const connections = Array.from({ length: atOnce }, () => new Connection(target.port));
    const served: number[] = [];
    const refused: number[] = [];
    const began = performance.now();
    const signIns = connections.map(async (connection) => {
      const counted = { logins: 0 };
      await signIn(target, counted)(connection);
      (counted.logins > 0 ? served : refused).push(performance.now() - began);
      connection.close();
    });
    let over = false;
    const times: number[] = [];
    const besides = tokens.map(async (operation) => {
      const connection = new Connection(target.port);
      while (!over) {
        const asked = performance.now();
        await operation(connection);
        times.push(performance.now() - asked);
      }
      connection.close();
    });
    await Promise.all(signIns);
    over = true;
    await Promise.all(besides);
    found.push({
      at_once: atOnce,
      refused: refused.length,
      p50: percentile(served, 0.5),
      slowest: percentile(served, 1),
      refused_after: percentile(refused, 1),
      tokens_p99: percentile(times, 0.99),
    });
  }
  const of = (name: keyof SignInsResult) => median(found.map((one) => one[name]));
  return {
    at_once: atOnce,
    refused: of('refused'),
    p50: of('p50'),
    slowest: of('slowest'),
    refused_after: of('refused_after'),
    tokens_p99: of('tokens_p99'),
  };
}

/** The figures in words. */
export const signInsText = ({ at_once, refused, p50, slowest, refused_after, tokens_p99 }: SignInsResult): string =>
  `${at_once} sign-ins at once: ${at_once - refused} served, p50 ${p50.toFixed(0)} ms, the slowest after ${slowest.toFixed(0)} ms (aim 10000); ` +
  `${refused} refused, the last after ${refused_after.toFixed(0)} ms; tokens beside them p99 ${tokens_p99.toFixed(0)} ms (aim 500)`;
