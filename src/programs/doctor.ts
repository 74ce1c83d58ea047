import { setTimeout as delay } from 'node:timers/promises';
import { Command, CommanderError, Option } from 'commander';
import { checks, isCheckId, type CheckId } from '../domain/diagnostics/checks/index.js';
import { diagnose, type Diagnosis } from '../domain/diagnostics/diagnose.js';
import { openInstallation } from '../process/look-at-installation.js';
import { exitCodeOf, failLevels, reportOf, type FailLevel } from './doctor/report.js';

/** sysexits: EX_USAGE; 1 and 2 say what was found. */
const badUsage = 64;
/** Milliseconds for all of it, of which the checks take nine at most; what is left is for starting and stopping an embedded database. */
const totalMs = 14_500;

type Given = { readonly json?: true; readonly failOn: FailLevel; readonly check?: readonly string[] };

function readArguments(): Given {
  const program = new Command('doctor')
    .description('Looks for what is wrong with this installation, running or not, and names what mends it. Changes nothing.')
    .option('--json', 'print {"status", "checks"} as JSON')
    .addOption(
      new Option('--fail-on <level>', 'the least level that ends with another exit code than 0').choices(failLevels).default('warning'),
    )
    .addOption(new Option('--check <id...>', 'only these').choices(Object.keys(checks)))
    .addHelpText('after', '\nExit code: 0 nothing, 1 a problem, 2 warnings, 64 wrong arguments.')
    .exitOverride();
  return program.parse().opts<Given>();
}

async function look(only: readonly CheckId[] | null): Promise<{ diagnosis: Diagnosis; close: () => Promise<void> }> {
  const { installation, stops } = await openInstallation();
  return { diagnosis: await diagnose(installation, only), close: () => stops.run() };
}

/** Waits for the text to be written: a pipe takes it later. */
const print = (text: string) => new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));

async function main(given: Given): Promise<number> {
  const late = delay(totalMs, null);
  const seen = await Promise.race([look(given.check?.filter(isCheckId) ?? null), late]);
  if (seen === null) {
    process.stderr.write('the look took longer than 15 s and was given up\n');
    return 1;
  }
  await print(given.json ? `${JSON.stringify(seen.diagnosis, null, 2)}\n` : reportOf(seen.diagnosis));
  await Promise.race([seen.close(), late]).catch(() => undefined);
  return exitCodeOf(seen.diagnosis, given.failOn);
}

try {
  process.exit(await main(readArguments()));
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : badUsage);
  process.stderr.write(`the doctor failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}
