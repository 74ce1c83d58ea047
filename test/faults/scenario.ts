import { pathToFileURL } from 'node:url';
import type { Context } from '../../src/domain/context.js';
import { killReplicas } from '../support/replica.js';
import { openStandalone } from '../support/standalone.js';

/** Where a scenario plays: a migrated database and a context on it, with nothing running. */
export type Stage = { readonly url: string; readonly secretKey: string; readonly ctx: Context };

/** A fault and what must hold after it: rejects when it doesn't, else resolves with what was measured. */
export type Scenario = (stage: Stage) => Promise<Readonly<Record<string, number | string>>>;

/** Plays the scenario when its file is the one that was started (`npx tsx test/faults/<name>.ts`), and prints what was measured. */
export async function playDirectly(moduleUrl: string, scenario: Scenario, durable = false): Promise<void> {
  if (moduleUrl !== pathToFileURL(process.argv[1] ?? '').href) return;
  const stage = await openStandalone({}, durable);
  try {
    console.log(JSON.stringify(await scenario(stage), null, 2));
  } finally {
    killReplicas();
    await stage.close();
  }
}
