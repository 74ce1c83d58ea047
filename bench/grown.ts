import type { BenchServer } from './database.js';
import type { Plan } from './measure.js';

/** Placeholder until filled below. */
export async function measureGrowth(_server: BenchServer, _plan: Plan): Promise<string> {
  return '';
}
