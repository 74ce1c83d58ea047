import { eventually } from '../support/webhooks.js';
import type { Receiver } from '../support/receiver.js';
import { introspect, isActive, manage, redeem, type Credentials } from './client.js';
import { createHistory, failed, type Code, type History } from './history.js';
import { present } from './load.js';
import type { Answer, Door } from './replicas.js';

export type Scene = {
  readonly history: History;
  readonly replicas: readonly Door[];
  readonly credentials: Credentials;
  readonly receiver: Receiver;
  readonly deliveredWithinMs?: number;
};

/** What was found of what was told since a moment: how much was looked at, and what is missing or too much, in words. */
export type Findings = { readonly looked: Readonly<Record<string, number>>; readonly wrong: readonly string[] };

/** A code lives 60 s; one that is older can't tell anything. */
const youngMs = 55_000;
const abreast = 8;
/** A delivery that was claimed when the database went is claimed anew when its lease is over (35 s). */
const usuallyDeliveredWithinMs = 90_000;

/** Asks until the service can answer. @throws when it can't for 15 s */
const insist = (ask: () => Promise<Answer>): Promise<Answer> =>
  eventually(async () => {
    const answer = await ask();
    return failed(answer.status) ? null : answer;
  }, 15_000);

async function each<T>(items: readonly T[], look: (item: T, replica: number) => Promise<void>): Promise<void> {
  const queue = [...items.entries()];
  const work = async () => {
    for (let one = queue.shift(); one; one = queue.shift()) await look(one[1], one[0] % 2);
  };
  await Promise.all(Array.from({ length: abreast }, work));
}

/** Codes that were kept since before the fault, or got during it, are redeemed now: each is good, once. */
async function findCodes({ history, replicas, credentials }: Scene, wrong: string[]): Promise<number> {
  const kept = history.codes.filter(
    ({ held, granted, refused, since }) => held && granted + refused === 0 && performance.now() - since < youngMs,
  );
  await each(kept, async (code, first) => {
    await present(history, replicas, credentials, code, first);
    if (code.granted === 0 && code.uncertain === 0) wrong.push('a code that was told to the client is unknown');
  });
  return kept.length;
}

/** Every token that was told is active, at either replica. */
async function findTokens({ history, replicas }: Scene, since: number, wrong: string[]): Promise<number> {
  const told = history.tokens.filter((token) => token.since >= since);
  await each(told, async ({ value, chain }, replica) => {
    const excused = () => chain !== null && (chain.ended || chain.uncertain);
    if (excused()) return;
    const answer = await insist(() => introspect(replicas[replica] as Door, value));
    if (!isActive(answer) && !excused()) wrong.push('an access token that was told to the client is inactive');
  });
  return told.length;
}

async function findUsers({ history, replicas, credentials }: Scene, since: number, wrong: string[]): Promise<number> {
  const told = [...history.users].filter(([, user]) => user.since >= since);
  await each(told, async ([id], replica) => {
    const answer = await insist(() => manage(replicas[replica] as Door, credentials.managementToken, 'GET', `/users/${id}`));
    if (answer.status !== 200) wrong.push(`a user that was created is ${answer.status}`);
  });
  return told.length;
}

/** A code that was good once is refused the second time; none was good twice. */
async function presentAgain({ history, replicas, credentials }: Scene, since: number, wrong: string[]): Promise<number> {
  const young = ({ since: made }: Code) => made >= since && performance.now() - made < youngMs;
  const spent = history.codes.filter((code) => code.held && code.granted > 0 && young(code));
  await each(spent, async (code, replica) => {
    const answer = await insist(() => redeem(replicas[replica] as Door, credentials, code.code, code.verifier));
    if (answer.status !== 400) wrong.push(`a code that was redeemed is answered with ${answer.status}`);
  });
  return spent.length;
}

/** The event that a delivery bears, and whom it is about. */
const eventOf = (body: string) => {
  const { event_id, data } = JSON.parse(body) as { event_id: string; data: { id: string } };
  return { event_id, user_id: data.id };
};

/** Each created user was told to the receiver, as one event. */
async function awaitDeliveries(
  { history, receiver, deliveredWithinMs = usuallyDeliveredWithinMs }: Scene,
  since: number,
  wrong: string[],
): Promise<{ deliveries: number; repeated: number }> {
  const told = [...history.users].filter(([, user]) => user.since >= since).map(([id]) => id);
  const delivered = () => {
    const events = new Map<string, string[]>();
    for (const { body } of receiver.posts) {
      const { event_id, user_id } = eventOf(body);
      events.set(user_id, [...(events.get(user_id) ?? []), event_id]);
    }
    return events;
  };
  const isComplete = async () => {
    const events = delivered();
    return told.every((id) => events.has(id));
  };
  await eventually(isComplete, deliveredWithinMs, 250).catch(() => undefined);
  const events = delivered();
  const missing = told.filter((id) => !events.has(id));
  if (missing.length > 0) wrong.push(`${missing.length} events of created users were not delivered`);
  const posts = told.map((id) => events.get(id) ?? []);
  if (posts.some((ids) => new Set(ids).size > 1)) wrong.push('one change was told as two events');
  return { deliveries: told.length, repeated: posts.reduce((sum, ids) => sum + Math.max(0, ids.length - 1), 0) };
}

/** Looks for everything that was told to a client since a moment. */
export async function check(scene: Scene, since: number): Promise<Findings> {
  const wrong: string[] = [];
  const { history } = scene;
  const codes = await findCodes(scene, wrong);
  const tokens = await findTokens(scene, since, wrong);
  const users = await findUsers(scene, since, wrong);
  const spent = await presentAgain(scene, since, wrong);
  const { deliveries, repeated } = await awaitDeliveries(scene, since, wrong);
  for (const { granted } of history.codes) if (granted > 1) wrong.push('a code was redeemed twice');
  for (const told of history.successors.values()) if (told.size > 1) wrong.push('a refresh token has two successors');
  wrong.push(...history.violations.splice(0));
  const asleep = history.chains.filter(({ ended, refreshedAt }) => !ended && performance.now() - refreshedAt > 20_000).length;
  if (asleep > 0) wrong.push(`${asleep} chains of refresh tokens stand still`);
  return { looked: { codes, spent, tokens, users, deliveries, repeated }, wrong };
}

/** What {@link check} must find: a code, a token and a user that nobody was told, a code that was good twice, a token with two successors. */
export async function checkPlanted(scene: Scene): Promise<{ planted: number; found: number }> {
  const since = performance.now();
  const code = { verifier: 'v'.repeat(43), since, uncertain: 0, refused: 0 };
  const history: History = {
    ...createHistory(),
    codes: [
      { ...code, code: 'ac_planted', held: true, granted: 0 },
      { ...code, code: 'ac_twice', held: false, granted: 2 },
    ],
    tokens: [{ value: `at_${'p'.repeat(43)}`, chain: null, since }],
    users: new Map([['00000000-0000-7000-8000-000000000000', { email: 'planted@example.com', since }]]),
    successors: new Map([['rt_planted', new Set(['rt_one', 'rt_two'])]]),
  };
  const { wrong } = await check({ ...scene, history, deliveredWithinMs: 1000 }, since);
  // The user counts twice: as missing, and as not delivered.
  return { planted: 6, found: new Set(wrong).size };
}
