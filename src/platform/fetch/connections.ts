import { Agent } from 'undici';
import { connectOnce, guardedConnector } from './connector.js';
import type { NetworkPolicy } from './guard.js';
import type { NameLookup } from './look-up.js';

const maxPools = 1000;

/** Time is bounded by the handler of each response. */
const agentOptions = {
  connections: 16,
  pipelining: 1,
  keepAliveTimeout: 4000,
  keepAliveMaxTimeout: 30_000,
  maxHeaderSize: 16 * 1024,
  headersTimeout: 0,
  bodyTimeout: 0,
} as const;

/** Agents by pool name. Beyond a thousand the one least lately used is closed when its requests have ended. */
function createAgents(create: () => Agent) {
  const agents = new Map<string, Agent>();
  return {
    of(pool: string): Agent {
      const agent = agents.get(pool) ?? create();
      agents.delete(pool);
      agents.set(pool, agent);
      const [oldest] = agents;
      if (agents.size > maxPools && oldest) {
        agents.delete(oldest[0]);
        oldest[1].close().catch(() => {});
      }
      return agent;
    },
    async destroy() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
      agents.clear();
    },
  };
}

export type Connections = ReturnType<typeof openConnections>;

/** The agents, and a connection without a request, by one guarded connector. */
export function openConnections(resolve: NameLookup, policy: NetworkPolicy, trustedCertificates: readonly string[]) {
  const connect = guardedConnector(resolve, policy, trustedCertificates);
  return {
    agents: createAgents(() => new Agent({ connect, ...agentOptions })),
    /** @throws {OutboundError} when there is no connection within `timeoutMs` */
    reach: (origin: string, timeoutMs: number) => connectOnce(connect, origin, timeoutMs),
  };
}
