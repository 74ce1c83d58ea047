import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../config.js';
import { randomKeyProblem } from '../lib/random-key.js';

/** The key that seals secrets beside the embedded database; made at the first start and kept in DATA_DIR, readable by its owner only. @throws {ConfigError} */
export async function loadSecretKey(dataDir: string): Promise<string> {
  const file = join(dataDir, 'secret.key');
  await mkdir(dataDir, { recursive: true });
  try {
    await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const key = (await readFile(file, 'utf8')).trim();
  const problem = randomKeyProblem(key);
  if (problem !== null) throw new ConfigError([`${file} holds the secret key of this installation and ${problem}`]);
  return key;
}
