import type { Knex } from 'knex';

/**
 * Runs `work` in a transaction that PostgreSQL lets change nothing, and whose statements it ends after `timeoutMs`. For those who only want to see how an
 * installation is doing.
 */
export const readOnly = <T>(knex: Knex, timeoutMs: number, work: (trx: Knex.Transaction) => Promise<T>): Promise<T> =>
  knex.transaction(
    async (trx) => {
      await trx.raw(`set local statement_timeout = ${Math.max(1, Math.round(timeoutMs))}`);
      return work(trx);
    },
    { readOnly: true },
  );
