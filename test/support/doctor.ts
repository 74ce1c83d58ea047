import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CheckId } from '../../src/domain/diagnostics/check-ids.js';
import { diagnose, type Diagnosis } from '../../src/domain/diagnostics/diagnose.js';
import { openInstallation } from '../../src/process/open-installation.js';
import { exitCodeOf } from '../../src/programs/doctor/report.js';
import { programArguments } from './compiled.js';

export type Variables = Readonly<Record<string, string>>;

/** What a program printed, and its exit code. */
export type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string };

const run = (file: string, args: readonly string[], env: Variables) =>
  new Promise<Ended>((resolve) => {
    execFile(file, args, { env: { PATH: process.env['PATH'] ?? '', ...env }, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
    });
  });

/** `npm run -s doctor`, as a process of its own. */
export const runDoctor = async (env: Variables, ...args: string[]): Promise<Ended> =>
  run(process.execPath, [...(await programArguments('programs/doctor')), ...args], env);

/** What the doctor found, with the exit code that it ends with. */
export type Findings = Diagnosis & { readonly code: number };

/** What it prints as JSON. */
export async function printedFindings(env: Variables, ...args: string[]): Promise<Findings> {
  const { code, stdout, stderr } = await runDoctor(env, '--json', ...args);
  if (!stdout.startsWith('{')) throw new Error(`the doctor said nothing: ${stderr}`);
  return { ...(JSON.parse(stdout) as Diagnosis), code };
}

/** What it finds on the installation of these variables: the look of `npm run -s doctor -- --json`, taken from within this process, which starts nothing for it. */
export async function findingsOf(env: Variables, ...only: CheckId[]): Promise<Findings> {
  const { installation, stops } = await openInstallation(env);
  try {
    const diagnosis = await diagnose(installation, only.length === 0 ? null : only);
    return { ...diagnosis, code: exitCodeOf(diagnosis, 'warning') };
  } finally {
    await stops.run();
  }
}

/**
 * A directory with an `npm` that runs the programs of package.json as they were compiled for this run, where the real one would compile them anew each time.
 */
async function npmBeside(): Promise<string> {
  const program = (await programArguments('programs/doctor')).at(-1) ?? '';
  const directory = join(dirname(program), '../../bin');
  if (existsSync(directory)) return directory;
  const draft = mkdtempSync(`${directory}-`);
  const script = `#!/bin/sh\n[ "$1 $2" = "run -s" ] || exit 64\nname=$3\nshift 3\n[ "$1" = "--" ] && shift\nexec node ${dirname(program)}/$name.js "$@"\n`;
  writeFileSync(join(draft, 'npm'), script, { mode: 0o755 });
  renameSync(draft, directory);
  return directory;
}

const mark = '\n--- variables ---\n';

/**
 * Does what a fix says, as somebody would who copies it into a shell in the project's directory: runs a command, or sets a variable.
 * @returns the variables as they are then
 * @throws {Error} with its output when it fails
 */
export async function apply(fix: string, env: Variables): Promise<Variables> {
  const PATH = `${await npmBeside()}:${env['PATH'] ?? process.env['PATH']}`;
  const { code, stdout, stderr } = await run('sh', ['-ec', `set -a\n${fix}\nprintf '${mark.replaceAll('\n', '\\n')}'; env -0`], {
    ...env,
    PATH,
  });
  const [, variables] = stdout.split(mark);
  if (code !== 0 || variables === undefined) throw new Error(`${fix}\nended with ${code}:\n${stdout}${stderr}`);
  const pairs = variables.split('\0').filter((pair) => pair.includes('=') && !pair.startsWith('PATH='));
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}
