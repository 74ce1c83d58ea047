import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a process loads, of packages and of its own. */
export type LoadedModules = {
  /** What Node is to be started with. */
  readonly options: readonly string[];
  /** Addresses of imported modules, and of the sources that a built one is made of, as they come; those of required ones once the process has ended. */
  names(): string[];
  remove(): void;
};

function sourcesOf(name: string): string[] {
  const map = name.startsWith('file:') ? `${fileURLToPath(name)}.map` : '';
  if (!name.includes('/dist/') || !existsSync(map)) return [];
  const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { sources: readonly string[] };
  return sources.map((source) => new URL(source, name).href);
}

/** Notes every module that a process loads: imported ones by a hook, required ones when it ends. */
export function noteModules(): LoadedModules {
  const directory = mkdtempSync(join(tmpdir(), 'identity-provider-modules-'));
  const [list, preload] = [join(directory, 'list'), join(directory, 'preload.mjs')];
  writeFileSync(list, '');
  const hooks = `import { appendFileSync } from 'node:fs';
    export async function load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + '\\n'); return next(url, context); }`;
  writeFileSync(
    preload,
    `import { appendFileSync } from 'node:fs';
     import { createRequire, register } from 'node:module';
     register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hooks)}));
     const { cache } = createRequire(import.meta.url);
     process.on('exit', () => appendFileSync(${JSON.stringify(list)}, Object.keys(cache).join('\\n')));`,
  );
  return {
    options: ['--import', preload],
    names: () => readFileSync(list, 'utf8').split('\n').flatMap((name) => [name, ...(name.includes('/node_modules/') ? [] : sourcesOf(name))]), // prettier-ignore
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
