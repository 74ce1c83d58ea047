import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const source = fileURLToPath(new URL('../../../src/platform/log/logger.ts', import.meta.url));

/** What a process wrote that logged with the service's logger and came to the given end. */
async function output(webConcurrency: number, end: string): Promise<{ lines: Record<string, unknown>[]; code: number }> {
  const program = `
    import { createLogger } from ${JSON.stringify(source)};
    const logger = createLogger({ logLevel: 'info', logFormat: 'json', webConcurrency: ${webConcurrency} });
    for (let i = 0; i < 1000; i++) logger.info({ i, password: 'hunter2', inner: { token: 'at_1' } }, 'line');
    ${end}`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const [code] = (await once(child, 'close')) as [number];
  return { lines: text.trimEnd().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>), code }; // prettier-ignore
}

for (const webConcurrency of [1, 2]) {
  for (const [how, end, status] of [
    ['is done', '', 0],
    ['ends itself', 'process.exit(3)', 3],
    ['fails', `throw new Error('unexpected')`, 1],
  ] as const) {
    test(`every line is written, whole, when a process of ${webConcurrency} ${how}`, async () => {
      const { lines, code } = await output(webConcurrency, end);
      expect(code).toBe(status);
      // One that is ended in the middle of a write may finish it after the rest.
      const numbers = lines.map(({ i }) => Number(i));
      expect(end === '' ? numbers : numbers.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
      expect(lines[0]).toMatchObject({ level: 30, password: '[redacted]', inner: { token: '[redacted]' }, msg: 'line' });
    });
  }
}
