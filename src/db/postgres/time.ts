import type { Knex } from 'knex';

/** How far a clock is behind the server's (milliseconds; negative when it is ahead), and how wrong that may be: half of what the answer took. */
export type Offset = { readonly offset: number; readonly uncertainty: number };

const samples = 3;

/** Asks the server what time it is, and takes the quickest of a few answers; the first may include a new connection. */
export async function offsetOf(knex: Knex, machine: () => number = Date.now): Promise<Offset> {
  let best: Offset = { offset: 0, uncertainty: Infinity };
  for (let sample = 0; sample < samples; sample++) {
    const [sentAt, began] = [machine(), performance.now()];
    const { rows } = await knex.raw<{ rows: { now: number }[] }>(`select extract(epoch from clock_timestamp())::float8 * 1000 as now`);
    const uncertainty = (performance.now() - began) / 2;
    if (uncertainty < best.uncertainty) best = { offset: (rows[0]?.now ?? sentAt) - sentAt - uncertainty, uncertainty };
  }
  return best;
}
