import { setTimeout as delay } from 'node:timers/promises';
import { authorize, introspect, isActive, manage, redeem, refresh, tokensOf, type Credentials } from './client.js';
import { createHistory, failed, type Chain, type Code, type History } from './history.js';
import type { Answer, Door } from './replicas.js';

/** Requests of all kinds to both replicas and through the balancer, at a steady pace, whatever becomes of them. */
export type Load = { readonly history: History; stop(): Promise<void> };

const chains = 4;
/** Between two requests of a kind, in milliseconds. */
const paces = { user: 400, code: 250, introspect: 120 };
const refreshPauseMs = 400;
const retryPauseMs = 300;
const codeLifeMs = 60_000;

/** Presents a code until it is known what came of it, or its time is up; every grant counts. */
export async function present(history: History, replicas: readonly Door[], credentials: Credentials, code: Code, first: number) {
  for (let turn = first; performance.now() - code.since < codeLifeMs; turn++) {
    const answer = await redeem(replicas[turn % 2] as Door, credentials, code.code, code.verifier);
    history.answers.push({ kind: 'redeem', at: performance.now(), status: answer.status });
    if (answer.status === 200) {
      code.granted += 1;
      return tokensOf(answer);
    }
    if (!failed(answer.status)) {
      code.refused += 1;
      return null;
    }
    code.uncertain += 1;
    await delay(retryPauseMs);
  }
  return null;
}

export function startLoad(replicas: readonly Door[], balancer: Door, credentials: Credentials): Load {
  const history = createHistory();
  const pending = new Set<Promise<void>>();
  let over = false;
  let turn = 0;
  const doors = [...replicas, balancer];
  const next = () => doors[turn++ % doors.length] as Door;
  const note = (kind: string, answer: Answer): Answer => {
    history.answers.push({ kind, at: performance.now(), status: answer.status });
    return answer;
  };

  async function makeUser(n: number): Promise<void> {
    const email = `person-${n}@example.com`;
    const answer = note(
      'user',
      await manage(next(), credentials.managementToken, 'POST', '/users', { type: 'user', attributes: { email } }),
    );
    if (answer.status !== 201) return;
    history.users.set((JSON.parse(answer.text) as { data: { id: string } }).data.id, { email, since: performance.now() });
  }

  async function askForCode(held: boolean): Promise<Code | null> {
    const { answer, code, verifier } = await authorize(next(), credentials);
    note('authorize', answer);
    if (code === null) return null;
    const made: Code = { code, verifier, since: performance.now(), held, granted: 0, refused: 0, uncertain: 0 };
    history.codes.push(made);
    return made;
  }

  /** One of three codes is kept for later, one is presented to both replicas at once, one is used as usual. */
  async function useCode(n: number): Promise<void> {
    const code = await askForCode(n % 3 === 0);
    if (code === null || code.held) return;
    if (n % 3 === 1) {
      await Promise.all([0, 1].map((first) => present(history, replicas, credentials, code, first)));
      return;
    }
    const tokens = await present(history, replicas, credentials, code, n);
    if (tokens) history.tokens.push({ value: tokens.access_token, chain: null, since: performance.now() });
  }

  async function askAboutToken(): Promise<void> {
    const recent = history.tokens.slice(-200);
    const token = recent[Math.floor(Math.random() * recent.length)];
    if (!token || token.chain?.uncertain || token.chain?.ended) return;
    const answer = note('introspect', await introspect(next(), token.value));
    if (answer.status === 200 && !isActive(answer) && !token.chain?.uncertain && !token.chain?.ended)
      history.violations.push('a token that was told to the client is inactive');
  }

  async function refreshOnce(chain: Chain): Promise<void> {
    const presented = chain.current;
    const answer = note('refresh', await refresh(next(), credentials, presented));
    if (answer.status === 200) {
      const tokens = tokensOf(answer);
      const told = history.successors.get(presented) ?? new Set();
      history.successors.set(presented, told.add(tokens.refresh_token));
      history.tokens.push({ value: tokens.access_token, chain, since: performance.now() });
      Object.assign(chain, { current: tokens.refresh_token, uncertain: false, refreshedAt: performance.now() });
    } else if (failed(answer.status)) {
      chain.uncertain = true;
    } else {
      chain.ended = true;
      if (!chain.uncertain) history.violations.push(`a refresh token that was told to the client is refused: ${answer.text}`);
    }
  }

  /** Refreshes for as long as the chain lives, then begins another. */
  async function keepRefreshing(): Promise<void> {
    while (!over) {
      const code = await askForCode(false);
      const tokens = code && (await present(history, replicas, credentials, code, turn++));
      if (!tokens) {
        await delay(retryPauseMs);
        continue;
      }
      const chain: Chain = { current: tokens.refresh_token, uncertain: false, ended: false, refreshedAt: performance.now() };
      history.chains.push(chain);
      while (!over && !chain.ended) {
        await refreshOnce(chain);
        await delay(chain.uncertain ? retryPauseMs : refreshPauseMs);
      }
    }
  }

  const every = (ms: number, act: (n: number) => Promise<void>) => {
    let n = 0;
    return setInterval(() => {
      const done: Promise<void> = act(n++).finally(() => pending.delete(done));
      pending.add(done);
    }, ms);
  };
  const timers = [every(paces.user, makeUser), every(paces.code, useCode), every(paces.introspect, askAboutToken)];
  const refreshing = Array.from({ length: chains }, () => keepRefreshing());
  return {
    history,
    async stop() {
      over = true;
      for (const timer of timers) clearInterval(timer);
      await Promise.all([...pending, ...refreshing]);
    },
  };
}
