import { Command, CommanderError, Option } from 'commander';
import { checkIds } from '../domain/diagnostics/check-ids.js';
import { failLevels } from './doctor/fail-levels.js';
import type { Given } from './doctor/run.js';

/** sysexits: EX_USAGE; 1 and 2 say what was found. */
const badUsage = 64;

function readArguments(): Given {
  const program = new Command('doctor')
    .description('Looks for what is wrong with this installation, running or not, and names what mends it. Changes nothing.')
    .option('--json', 'print {"status", "checks"} as JSON')
    .addOption(
      new Option('--fail-on <level>', 'the least level that ends with another exit code than 0').choices(failLevels).default('warning'),
    )
    .addOption(new Option('--check <id...>', 'only these').choices(checkIds))
    .addHelpText('after', '\nExit code: 0 nothing, 1 a problem, 2 warnings, 64 wrong arguments.')
    .exitOverride();
  return program.parse().opts<Given>();
}

try {
  const given = readArguments();
  const { runDoctor } = await import('./doctor/run.js');
  process.exit(await runDoctor(given));
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : badUsage);
  process.stderr.write(`the doctor failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}
