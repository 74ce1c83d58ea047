import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { earlierReleases } from '../../src/db/migrations/baseline.js';

/** As many names as there were migrations before the baseline, ending with the last of them: a database knows no more of them. */
export const earlierMigrations = (): string[] => [
  ...Array.from({ length: earlierReleases.count - 1 }, (_, i) => `${String(i + 1).padStart(4, '0')}_earlier`),
  earlierReleases.last,
];

const git = (...words: string[]): string | null => {
  try {
    return execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 64 * 1024 * 1024 }).trim();
  } catch {
    return null;
  }
};

const migrationsOf = (commit: string): string[] => git('ls-tree', '--name-only', commit, 'migrations/')?.split('\n') ?? [];

/**
 * The commit of the release before: the newest tag, and while there is none, the last commit that lacks some of the present migrations.
 * Null where no history is at hand: in a tarball, or in a shallow clone.
 */
export function earlierRelease(): string | null {
  if (git('rev-parse', '--is-shallow-repository') !== 'false') return null;
  const tag = git('describe', '--tags', '--abbrev=0', 'HEAD^');
  if (tag !== null) return git('rev-parse', `${tag}^{commit}`);
  const present = readdirSync('migrations').map((name) => `migrations/${name}`);
  const changes = git('log', '--first-parent', '--format=%H', '--', 'migrations')?.split('\n') ?? [];
  const lacksSome = (commit: string | null) => commit !== null && !present.every((name) => migrationsOf(commit).includes(name));
  return ['HEAD', ...changes.map((commit) => `${commit}^`)].map((name) => git('rev-parse', name)).find(lacksSome) ?? null;
}

/**
 * What `npm run build` makes of a commit, in a directory of its own, with the packages of this checkout.
 * @returns that directory; its `dist/main.js` is the service
 */
export function buildRelease(commit: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'identity-provider-earlier-'));
  const archive = join(directory, 'release.tar');
  const source = join(directory, 'release');
  mkdirSync(source);
  execFileSync('git', ['archive', '--format=tar', `--output=${archive}`, commit]);
  execFileSync('tar', ['-xf', archive, '-C', source]);
  symlinkSync(resolve('node_modules'), join(source, 'node_modules'));
  // Types were checked when it was released. Until docs/decisions/0010 the compiler wrote what is run.
  if (existsSync(join(source, 'bundle.mjs'))) {
    execFileSync(process.execPath, ['bundle.mjs'], { cwd: source, stdio: ['ignore', 'ignore', 'inherit'] });
    return source;
  }
  const options = ['-p', 'tsconfig.build.json', '--noCheck', '--incremental', 'false', '--tsBuildInfoFile', 'null'];
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...options], { cwd: source, stdio: ['ignore', 'ignore', 'inherit'] });
  return source;
}
