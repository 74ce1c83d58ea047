/** The latest authentication time of clients of all environments, collected in this process until it is written. */
export type ClientUse = {
  note(environment_id: string, client_id: string, at: Date): void;
  /** Returns and clears what was collected. */
  take(): { environment_id: string; client_id: string; at: Date }[];
};

/** The latest use of each client, in memory: a request costs no statement. */
export function createClientUse(): ClientUse {
  let environments = new Map<string, Map<string, Date>>();
  return {
    note(environment_id, client_id, at) {
      let clients = environments.get(environment_id);
      if (!clients) environments.set(environment_id, (clients = new Map<string, Date>()));
      const known = clients.get(client_id);
      if (!known || known < at) clients.set(client_id, at);
    },
    take() {
      const taken = environments;
      environments = new Map();
      return [...taken].flatMap(([environment_id, clients]) => [...clients].map(([client_id, at]) => ({ environment_id, client_id, at })));
    },
  };
}
