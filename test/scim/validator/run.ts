// Validates the SCIM endpoints by another maker's checks: scim2-tester of PyPI, which Python 3 with venv installs into a directory of its own.
//
// Usage: npm run test:scim
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { addDirectory } from '../../support/directories.js';
import { startTestService } from '../../support/service.js';
import { openStandalone } from '../../support/standalone.js';

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));
const domain = 'validated.example';

const venv = await mkdtemp(join(tmpdir(), 'identity-provider-scim-'));
const standalone = await openStandalone();
const service = await startTestService({}, { database: standalone });
try {
  await run('python3', ['-m', 'venv', venv]);
  await run(join(venv, 'bin/pip'), ['install', '--quiet', '--requirement', join(here, 'requirements.txt')]);
  const { url, token } = await addDirectory(await service.context(), domain);
  const { stdout } = await run(join(venv, 'bin/python'), [join(here, 'check.py'), url, token, domain]);
  process.stdout.write(stdout);
} catch (error) {
  const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
  process.stderr.write(`${stdout}${stderr}${stdout === '' && stderr === '' ? String(error) : ''}\n`);
  process.exitCode = 1;
} finally {
  await service.stop();
  await standalone.close();
  await rm(venv, { recursive: true, force: true });
}
