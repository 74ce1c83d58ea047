// When a command builds before it runs (bin/build.sh): by the script itself, in a small project with an `npm` that tells that it was asked.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

let project: string;
let npm: string;

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'identity-provider-build-'));
  npm = join(project, '../', `${project.split('/').at(-1)}-npm`);
  for (const name of ['bin', 'src/lib', 'dist', 'node_modules/.bin']) mkdirSync(join(project, name), { recursive: true });
  mkdirSync(npm);
  copyFileSync('bin/build.sh', join(project, 'bin/build.sh'));
  for (const name of [
    'src/main.ts',
    'src/lib/one.ts',
    'package.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'bundle.mjs',
    'dist/main.js',
  ])
    writeFileSync(join(project, name), name === 'package.json' ? '{}' : '');
  writeFileSync(join(project, 'node_modules/.bin/tsc'), '', { mode: 0o755 });
  writeFileSync(join(npm, 'npm'), `#!/bin/sh\necho "npm $*"\n`, { mode: 0o755 });
  age(60);
});

afterEach(() => {
  rmSync(project, { recursive: true, force: true });
  rmSync(npm, { recursive: true, force: true });
});

/** Lets the build have begun so many seconds ago; negative: in the future, so that nothing is newer. */
const age = (seconds: number) => {
  const at = new Date(Date.now() - seconds * 1000);
  utimesSync(join(project, 'dist/main.js'), at, at);
};

const run = (env: Record<string, string> = {}) => {
  const { status, stdout, stderr } = spawnSync('sh', [join(project, 'bin/build.sh')], {
    cwd: tmpdir(),
    encoding: 'utf8',
    env: { PATH: `${npm}:${process.env['PATH']}`, ...env },
  });
  return { status, built: stdout === 'npm run -s build\n', told: stdout + stderr };
};

test('it builds when a source has changed since the last build, or nothing is built; else not', () => {
  expect(run()).toMatchObject({ status: 0, built: true });
  age(-60);
  expect(run()).toEqual({ status: 0, built: false, told: '' });
  rmSync(join(project, 'dist/main.js'));
  expect(run()).toMatchObject({ built: true });
  rmSync(join(project, 'dist'), { recursive: true });
  expect(run()).toMatchObject({ built: true });
});

test('what is touched, and says the same as at the last build, is not built again; what says something else is', () => {
  expect(run()).toMatchObject({ built: true });
  age(60);
  expect(run()).toEqual({ status: 0, built: false, told: '' });
  // Known to be of this content from now on.
  expect(statSync(join(project, 'dist/main.js')).mtimeMs).toBeGreaterThan(Date.now() - 30_000);
  writeFileSync(join(project, 'src/lib/one.ts'), 'changed');
  age(60);
  expect(run()).toMatchObject({ built: true });
  // Another build, `npm run build` say, takes what is noted away: it may have been of another content.
  rmSync(join(project, 'dist/.built-of'));
  age(60);
  expect(run()).toMatchObject({ built: true });
  expect(readdirSync(join(project, 'dist')).sort()).toEqual(['.built-of', 'main.js']);
});

test('an archive that is unpacked over it counts, though its files are older than the build', () => {
  const source = join(project, 'src/lib/one.ts');
  // As tar does: written now, with the time of long ago.
  utimesSync(source, new Date(0), new Date(0));
  age(30);
  expect(run()).toMatchObject({ built: true });
});

test('without a compiler, or without sources, what is there is run', () => {
  rmSync(join(project, 'node_modules'), { recursive: true });
  expect(run()).toEqual({ status: 0, built: false, told: '' });
  mkdirSync(join(project, 'node_modules/.bin'), { recursive: true });
  writeFileSync(join(project, 'node_modules/.bin/tsc'), '', { mode: 0o755 });
  rmSync(join(project, 'src'), { recursive: true });
  expect(run()).toEqual({ status: 0, built: false, told: '' });
});

test('where nothing may be written, what is there is run', () => {
  chmodSync(project, 0o755);
  for (const name of ['bin', 'src', 'src/lib', 'dist', 'node_modules', 'node_modules/.bin']) chmodSync(join(project, name), 0o555);
  // Root writes everywhere: as somebody else, which is the checkout of another owner too.
  const asOther = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (process.getuid?.() === 0) chmodSync(npm, 0o755);
  const ended = spawnSync('sh', [join(project, 'bin/build.sh')], { encoding: 'utf8', env: { PATH: `${npm}:/usr/bin:/bin` }, ...asOther });
  for (const name of ['bin', 'src', 'src/lib', 'dist', 'node_modules', 'node_modules/.bin']) chmodSync(join(project, name), 0o755);
  expect([ended.status, ended.stdout, ended.stderr]).toEqual([0, '', '']);
});

test('a `find` that does not know the time of change builds', () => {
  age(-60);
  writeFileSync(join(npm, 'find'), '#!/bin/sh\necho "find: unrecognized: -cnewer" >&2\nexit 1\n', { mode: 0o755 });
  expect(run()).toMatchObject({ status: 0, built: true });
});

test('every command of the project that runs what is built brings it up to date in this one way', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  for (const file of readdirSync('src/programs').filter((one) => one.endsWith('.ts'))) {
    const name = file.slice(0, -3);
    expect(scripts[name]).toBe(`exec sh bin/run.sh ${name}`);
  }
  expect(scripts['start']).toBe('exec sh bin/run.sh start');
  // The image installs packages before it has the script.
  expect(scripts['prepare']).toBe('if [ -f bin/build.sh ]; then sh bin/build.sh; fi');
  expect(Object.values(scripts).filter((script) => script.includes('npm run -s build'))).toEqual([]);
  expect(existsSync('bin/build.sh')).toBe(true);
});

test('a command that is only asked for help answers from what is built, and a script by the comment that it begins with', () => {
  copyFileSync('bin/run.sh', join(project, 'bin/run.sh'));
  mkdirSync(join(project, 'dist/programs'));
  writeFileSync(join(project, 'dist/programs/one.js'), 'console.log(process.argv.slice(2).join(" "))');
  writeFileSync(join(project, 'script.ts'), '// Does this: `npm run script -- word`.\n// And that.\nimport "nothing";\n// not this\n');
  const ran = (...words: string[]) => {
    const { status, stdout, stderr } = spawnSync('sh', [join(project, 'bin/run.sh'), ...words], {
      cwd: tmpdir(),
      encoding: 'utf8',
      env: { PATH: `${npm}:${dirname(process.execPath)}:${process.env['PATH']}` },
    });
    return [status, stdout, stderr];
  };
  expect(ran('one', 'sub', '--help')).toEqual([0, 'sub --help\n', '']);
  expect(ran('one', 'word')).toEqual([0, 'npm run -s build\nword\n', '']);
  copyFileSync('bin/start.sh', join(project, 'bin/start.sh'));
  expect(ran('start', '--help')).toEqual([0, expect.stringMatching(/^Usage: npm start /), '']);
  expect(ran('script.ts', '--help')).toEqual([0, 'Does this: `npm run script -- word`.\nAnd that.\n', '']);
});
