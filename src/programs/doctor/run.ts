import { setTimeout as delay } from 'node:timers/promises';
import type { CheckId } from '../../domain/diagnostics/check-ids.js';
import { diagnose, type Diagnosis } from '../../domain/diagnostics/diagnose.js';
import { openInstallation } from '../../process/open-installation.js';
import type { FailLevel } from './fail-levels.js';
import { exitCodeOf, reportOf } from './report.js';

/** Milliseconds for all of it, of which the checks take nine at most; what is left is for starting and stopping an embedded database. */
const totalMs = 14_500;

export type Given = { readonly json?: true; readonly failOn: FailLevel; readonly check?: readonly CheckId[] };

async function diagnoseInstallation(only: readonly CheckId[] | null): Promise<{ diagnosis: Diagnosis; close: () => Promise<void> }> {
  const { installation, stops } = await openInstallation();
  return { diagnosis: await diagnose(installation, only), close: () => stops.run() };
}

/** Waits for the text to be written: a pipe takes it later. */
const print = (text: string) => new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));

/** Looks, and prints what it found. @returns the exit code */
export async function runDoctor(given: Given): Promise<number> {
  const late = delay(totalMs, null);
  const seen = await Promise.race([diagnoseInstallation(given.check ?? null), late]);
  if (seen === null) {
    process.stderr.write('the look took longer than 15 s and was given up\n');
    return 1;
  }
  await print(given.json ? `${JSON.stringify(seen.diagnosis, null, 2)}\n` : reportOf(seen.diagnosis));
  await Promise.race([seen.close(), late]).catch(() => undefined);
  return exitCodeOf(seen.diagnosis, given.failOn);
}
