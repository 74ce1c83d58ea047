import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import type { Cluster } from './cluster.js';

/** A defect that is put into a run from outside, to see that the checker finds it. The service has no switch for it. */
export type Plant = {
  /** For the replicas. */
  readonly environment: Readonly<Record<string, string>>;
  /** Done once, when the stage is set. */
  readonly once?: string;
  /** Done again and again while the run lasts. */
  readonly again?: { readonly text: string; readonly everyMs: number };
};

/** A trigger that lets a statement pass over rows. */
const passOver = (table: string, when: string, condition: string) => `
  create function planted() returns trigger language plpgsql as $$ begin if ${condition} then return null; end if; return ${when === 'delete' ? 'old' : 'new'}; end $$;
  create trigger planted before ${when} on ${table} for each row execute function planted()`;

const patch = pathToFileURL(resolve('test/chaos/patched-successors.mjs')).href;

/** For each rule what breaks it. */
export const plants = {
  // A code that was used is good again.
  R1: { environment: {}, again: { text: 'update authorization_codes set redeemed_at = null where redeemed_at is not null', everyMs: 200 } },
  // Each replica derives another successor.
  R2: { environment: { NODE_OPTIONS: `--import ${patch}` } },
  // Acknowledged rows vanish.
  R3: {
    environment: {},
    again: {
      text: `delete from users where id = (select id from users where email like 'record%' order by random() limit 1)`,
      everyMs: 1000,
    },
  },
  // Revoked tokens stay.
  R4: { environment: {}, once: passOver('access_tokens', 'delete', 'true') },
  // Some deliveries are never stored.
  R5: { environment: {}, once: passOver('webhook_deliveries', 'insert', 'random() < 0.1') },
  // Counters are forgotten.
  R6: { environment: {}, again: { text: 'delete from rate_limits', everyMs: 500 } },
} satisfies Record<string, Plant>;

export type PlantName = keyof typeof plants;
export const isPlantName = (name: string): name is PlantName => Object.hasOwn(plants, name);

/** Puts the plant in. @returns what ends it */
export async function sow(plant: Plant, cluster: Cluster): Promise<() => void> {
  if (plant.once !== undefined) await cluster.query(plant.once);
  const { again } = plant;
  if (!again) return () => undefined;
  const timer = setInterval(() => void cluster.query(again.text).catch(() => undefined), again.everyMs);
  return () => clearInterval(timer);
}
