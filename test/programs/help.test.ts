// What a command does is told at once: nothing of the service is loaded for it.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { endpoints } from '../../src/management/calls/index.js';
import { commandsOnDemand } from '../../src/programs/cli/on-demand.js';
import { programArguments } from '../support/compiled.js';
import { noteModules } from '../support/loaded-modules.js';

vi.setConfig({ testTimeout: 150_000 });

type Program = Parameters<typeof programArguments>[0];
const programs = readdirSync('src/programs').flatMap((name) => (name.endsWith('.ts') ? [name.slice(0, -3)] : []));

/** What reads arguments and variables. */
const forArguments = ['commander', 'zod', 'ipaddr.js'];

async function said(name: string, ...words: string[]) {
  const modules = noteModules();
  const command = [...modules.options, ...(await programArguments(`programs/${name}` as Program)), ...words];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', env: { PATH: process.env['PATH'] } });
  const names = modules.names();
  modules.remove();
  return { status, stdout, stderr, names };
}

test('there are eleven commands', () => expect(programs).toHaveLength(11));

test.each(programs)('%s --help loads nothing of the service, nor what talks to a database', async (name) => {
  const { status, stdout, stderr, names } = await said(name, '--help');
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(new RegExp(`^Usage: ${name} `));
  const packages = new Set(names.flatMap((one) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(one)?.[1] ?? []));
  expect([...packages].filter((one) => !forArguments.includes(one))).toEqual([]);
  expect(packages).toContain('commander');
  expect(names.filter((one) => /\/src\/(?:app|process\/|db\/|http\/|management\/|oauth\/)/.test(one))).toEqual([]);
});

test('the command line reads its words with commander alone', async () => {
  for (const words of [['--help'], ['users', 'create', '--help']]) {
    const { status, names } = await said('cli', ...words);
    expect([status, names.filter((one) => one.includes('/node_modules/') && !one.includes('/commander/'))]).toEqual([0, []]);
  }
});

test('a refused argument is told as fast; what a command needs is loaded when it runs', async () => {
  const refused = await said('cli', 'no-such-command');
  expect([refused.status, refused.stderr]).toEqual([64, expect.stringContaining("unknown command 'no-such-command'")]);
  expect(refused.names.filter((one) => /\/src\/(?:db|management)\//.test(one))).toEqual([]);
  const ran = await said('doctor', '--check', 'config', '--json');
  expect(JSON.parse(ran.stdout)).toMatchObject({ checks: [{ id: 'config' }] });
  expect(ran.names.filter((one) => one.endsWith('/src/domain/diagnostics/diagnose.ts'))).not.toEqual([]);
});

test('commands that are loaded on demand show what is within, by --help and by help', async () => {
  const within = ['export', 'plan', 'apply', 'drift', 'validate'].map((name) => expect.stringMatching(new RegExp(`^  ${name}\\b`, 'm')));
  const asked = [await said('cli', 'config', '--help'), await said('cli', 'help', 'config')];
  for (const { stdout } of asked) for (const one of within) expect(stdout).toEqual(one);
  expect((await said('cli', 'token-preview', '--help')).stdout).toContain('--grant-type');
  const { stdout } = await said('cli', 'help');
  for (const [name, { description }] of Object.entries(commandsOnDemand()))
    expect(stdout).toMatch(new RegExp(`^  ${name}\\b[^\\n]*\\s${description.slice(0, 12)}`, 'm'));
});

test('every endpoint of the Management API has a command, under its first word and its summary', () => {
  const commands = commandsOnDemand();
  for (const { words, summary } of endpoints) {
    expect(Object.keys(commands)).toContain(words[0]);
    if (words.length === 1) expect(commands[words[0]]?.description).toBe(summary);
  }
});
