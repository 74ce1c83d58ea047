import { Unavailable } from '../db/connection/failures.js';

/**
 * Works through the records of a pass in turn, until it is to stop. One that fails keeps no other waiting: the next pass tries it again.
 * @throws the first failure once it is through; at once where the database is away, which concerns all
 */
export async function forEachRecord<T>(records: readonly T[], work: (record: T) => Promise<void>, signal?: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const record of records) {
    if (signal?.aborted) break;
    try {
      await work(record);
    } catch (error) {
      if (error instanceof Unavailable) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
