import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Diagnosis } from '../../src/domain/diagnostics/diagnose.js';
import { programArguments } from './compiled.js';

/** The environment variables of an installation. */
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
export async function runDoctor(env: Variables, ...args: string[]): Promise<Ended> {
  return run(process.execPath, [...(await programArguments('programs/doctor')), ...args], env);
}

/** What it finds there. */
export async function findingsOf(env: Variables, ...args: string[]): Promise<Diagnosis & { readonly code: number }> {
  const { code, stdout, stderr } = await runDoctor(env, '--json', ...args);
  if (!stdout.startsWith('{')) throw new Error(`the doctor said nothing: ${stderr}`);
  return { ...(JSON.parse(stdout) as Diagnosis), code };
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
