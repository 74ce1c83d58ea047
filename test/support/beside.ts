import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathOf, type Program } from './programs.js';

/** A program beside the service: a proxy, a pooler. */
export type Beside = { readonly output: () => string; stop(): Promise<void> };

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

/**
 * Runs an installed program in the foreground, with `files` in a directory of its own, and waits until its port takes connections.
 * @param args what it is called with, given the directory
 * @throws {Error} with its output when it isn't installed, ends, or doesn't listen within 20 s
 */
export async function runBeside(
  program: Program,
  args: (directory: string) => string[],
  files: (directory: string) => Readonly<Record<string, string>>,
  port: number,
): Promise<Beside> {
  const directory = await mkdtemp(join(tmpdir(), 'identity-provider-beside-'));
  await chmod(directory, 0o755);
  for (const [name, text] of Object.entries(files(directory))) await writeFile(join(directory, name), text, { mode: 0o644 });
  const child = spawn(pathOf(program), args(directory), { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let over: string | null = null;
  child.stdout.on('data', (data) => (output += String(data)));
  child.stderr.on('data', (data) => (output += String(data)));
  const ended = new Promise<void>((resolve) => {
    child.once('error', (error) => resolve(void (over = error.message)));
    child.once('exit', (code, signal) => resolve(void (over ??= `ended with ${code ?? signal}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(directory, { recursive: true, force: true });
  };
  const deadline = performance.now() + 20_000;
  while (!(await isOpen(port))) {
    if (over !== null || performance.now() > deadline) {
      await stop();
      throw new Error(`${program}: ${over ?? 'does not listen'}\n${output}`);
    }
  }
  return { output: () => output, stop };
}
