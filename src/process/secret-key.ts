import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../config.js';
import { randomKeyProblem } from '../lib/random-key.js';

const keyFile = (dataDir: string) => join(dataDir, 'secret.key');

/** The key that seals secrets beside the embedded database; made at the first start and kept in DATA_DIR, readable by its owner only. @throws {ConfigError} */
export async function loadSecretKey(dataDir: string): Promise<string> {
  const file = keyFile(dataDir);
  await mkdir(dataDir, { recursive: true });
  try {
    await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return (await readSecretKey(dataDir)) as string;
}

/** The same if it is there already; null when it isn't. @throws {ConfigError} */
export async function readSecretKey(dataDir: string): Promise<string | null> {
  const file = keyFile(dataDir);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const key = text.trim();
  const problem = randomKeyProblem(key);
  if (problem !== null) throw new ConfigError([`${file} holds the secret key of this installation and ${problem}`]);
  return key;
}
