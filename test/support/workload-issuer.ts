import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClientKey, type ClientKey } from './signed-jwt.js';

/** A platform that issues tokens to its workloads: real metadata and keys on loopback. */
export type WorkloadIssuer = {
  readonly url: string;
  readonly key: ClientKey;
  /** How often its keys were fetched. */
  fetched(): number;
  /** The keys that it publishes from now on; null: it answers 500. */
  publish(keys: readonly ClientKey[] | null): void;
  /** From now on it answers nobody, until what is returned is called. */
  hold(): () => void;
  sign(claims: Record<string, unknown>, key?: ClientKey): Promise<string>;
  close(): Promise<unknown>;
};

/** Starts one. `sign` adds `iss`, and times of ten minutes where the claims have none. */
export async function startWorkloadIssuer(now: () => Date): Promise<WorkloadIssuer> {
  const key = await createClientKey('RS256', 'platform-1');
  let published: readonly ClientKey[] | null = [key];
  let fetched = 0;
  let held: Promise<void> | null = null;
  const server = createServer(async (req, res) => {
    if (req.url?.endsWith('/jwks')) fetched += 1;
    await held;
    if (published === null) return void res.writeHead(500).end();
    res.writeHead(200, { 'content-type': 'application/json' });
    const keys = published.map(({ jwk }) => jwk);
    res.end(JSON.stringify(req.url?.endsWith('/jwks') ? { keys } : { issuer: url, jwks_uri: `${url}/jwks` }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    key,
    fetched: () => fetched,
    publish: (keys) => void (published = keys),
    hold() {
      let release = () => {};
      held = new Promise((resolve) => (release = resolve));
      return () => {
        held = null;
        release();
      };
    },
    sign(claims, by = key) {
      const iat = Math.floor(now().getTime() / 1000);
      return by.sign({ iss: url, iat, exp: iat + 600, ...claims });
    },
    close: () => once(server.close(), 'close'),
  };
}

/** What GitHub Actions says of a job (its documentation, "OIDC claims"). */
export const gitHubClaims = (aud: string) => ({
  aud,
  jti: 'example-id',
  sub: 'repo:octo-org/octo-repo:ref:refs/heads/main',
  ref: 'refs/heads/main',
  repository: 'octo-org/octo-repo',
  repository_id: '74',
  repository_owner: 'octo-org',
  repository_owner_id: '65',
  run_id: 2_931_485_217,
  environment: 'prod',
  event_name: 'push',
});

/** What Kubernetes says of a pod by a projected service account token: `aud` is a list. */
export const kubernetesClaims = (aud: string) => ({
  aud: [aud],
  sub: 'system:serviceaccount:orders:worker',
  'kubernetes.io': { namespace: 'orders', pod: { name: 'worker-5d9', uid: 'b0c6' }, serviceaccount: { name: 'worker', uid: '14ee3fa4' } },
});
