import { setTimeout as delay } from 'node:timers/promises';
import { authorization } from '../faults/harness.js';
import type { Cluster } from './cluster.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import type { Answer, Request } from './requests.js';

export type ReplicaName = 'A' | 'B';
const names: readonly ReplicaName[] = ['A', 'B'];

/** What the load acts on, and with. */
export type World = {
  readonly recorder: Recorder;
  readonly base: string;
  /** True from the moment on when no load is to be made any more. */
  over(): boolean;
  send(replica: ReplicaName, request: Request): Promise<Answer>;
  /** To the Management API, with a token that is renewed when it is refused. */
  manage(replica: ReplicaName, request: Request): Promise<Answer>;
};

/** A loop of the load: does its work until the world is over. */
export type Actor = (world: World, random: Random) => Promise<void>;

export const either = (random: Random): ReplicaName => random.pick(names);
export const other = (replica: ReplicaName): ReplicaName => (replica === 'A' ? 'B' : 'A');
export const pause = (random: Random, least: number, most: number) => delay(random.between(least, most));

const mediaType = 'application/vnd.api+json';

export function createWorld(options: {
  readonly cluster: Cluster;
  readonly recorder: Recorder;
  readonly send: (origin: string, request: Request) => Promise<Answer>;
  readonly over: () => boolean;
}): World {
  const { cluster, recorder, over } = options;
  const send = (replica: ReplicaName, request: Request) => options.send(cluster.urls[replica], request);
  let token = '';

  async function renew(replica: ReplicaName): Promise<void> {
    const form = { grant_type: 'client_credentials', resource: `${cluster.base}/api` };
    const answer = await send(replica, { path: '/oauth/token', headers: { authorization }, form });
    if (answer.status === 200) token = String(answer.body['access_token']);
  }

  return {
    recorder,
    base: cluster.base,
    over,
    send,
    async manage(replica, request) {
      const ask = () =>
        send(replica, {
          ...request,
          headers: {
            accept: mediaType,
            ...(request.json === undefined ? {} : { 'content-type': mediaType }),
            ...request.headers,
            authorization: `Bearer ${token}`,
          },
        });
      if (token === '') await renew(replica);
      const answer = await ask();
      // Keys come and go in a run, and a token goes with the key that signed it.
      if (answer.status !== 401) return answer;
      await renew(replica);
      return ask();
    },
  };
}

/** Asks again, at one replica and the other, until it is done: what a run needs before it can begin. @throws after a minute */
export async function insist(world: World, request: Request): Promise<Answer> {
  for (let tries = 0; tries < 60; tries++) {
    const answer = await world.manage(names[tries % 2] as ReplicaName, request);
    if (answer.status >= 200 && answer.status < 300) return answer;
    if (answer.status >= 400 && answer.status < 500 && answer.status !== 429)
      throw new Error(`${request.path}: ${answer.status} ${answer.text}`);
    await delay(1000);
  }
  throw new Error(`${request.path}: no answer for a minute`);
}

/** A JSON:API document of one resource. */
export const documentOf = (type: string, attributes: object, relationships?: object, id?: string) => ({
  data: { type, ...(id === undefined ? {} : { id }), attributes, ...(relationships ? { relationships } : {}) },
});
