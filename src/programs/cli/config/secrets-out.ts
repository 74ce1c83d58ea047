import { open, rm } from 'node:fs/promises';
import { CliError } from '../api.js';
import type { ConfigChanges } from './answer.js';

/**
 * Runs `apply` with a place for the secrets that it makes: a new file for its owner alone, there before anything is done. It goes when nothing
 * was written to it.
 * @param file null: none was named @throws {CliError} when secrets will be made and there is no place for them
 */
export async function withSecretsFile(
  file: string | null,
  planned: ConfigChanges,
  apply: () => Promise<ConfigChanges>,
): Promise<ConfigChanges> {
  const made = planned.secrets ?? [];
  if (made.length === 0) return apply();
  const named = made.map(({ kind, key, attribute }) => `${attribute} of ${kind} ${key}`).join(', ');
  if (file === null)
    throw new CliError(`applying makes secrets that are shown once (${named}): name a new file for them with --secrets-out`);
  const handle = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(
      `${file} can not be made for the secrets: ${error.code === 'EEXIST' ? 'it is there already' : (error.code ?? String(error))}`,
    );
  });
  try {
    const answer = await apply();
    await handle.writeFile(`${JSON.stringify({ secrets: answer.secrets ?? [] }, null, 2)}\n`);
    return answer;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}
