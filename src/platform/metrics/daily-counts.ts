/** How often something was counted in an environment, by its name and label. */
export type DailyCount = { readonly environment_id: string; readonly name: string; readonly label: string; readonly count: number };

/** Counts in memory: one map access per event counted, no statement. */
export type DailyCounts = {
  /** Counts one, or `times`. `name` and `label` come from the code or are the id of a record, never from a request; neither has a space. */
  add(environment_id: string, name: string, label: string, times?: number): void;
  /** All counts so far; they start again at zero. */
  take(): DailyCount[];
};

export function createDailyCounts(): DailyCounts {
  let counts = new Map<string, number>();
  return {
    add(environment_id, name, label, times = 1) {
      const key = `${environment_id} ${name} ${label}`;
      counts.set(key, (counts.get(key) ?? 0) + times);
    },
    take() {
      const taken = counts;
      counts = new Map();
      return [...taken].map(([key, count]) => {
        const [environment_id = '', name = '', label = ''] = key.split(' ');
        return { environment_id, name, label, count };
      });
    },
  };
}
