import { closedLoop, requestText, type Operation } from './driver.js';
import type { Plan } from './measure.js';
import { scenarios } from './scenarios.js';
import type { Target } from './targets/target.js';

/** What signing keeps while people sign in all the time. */
export type LoginsResult = { readonly alone: number; readonly beside: number; readonly logins: number; readonly text: string };

const concurrent = 16;

/** JSON sign-ins with a wrong password: each costs one password hash, none ends in a session. Busy answers count as none. */
function signIn(target: Target, counted: { logins: number }): Operation {
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
