// What `npm run build` makes of src/ once its types are checked: few files instead of some seven hundred (docs/decisions/0010). Each file of
// src/programs and src/main.ts is a program of its own in dist/, under the same name; what several share and what is imported on demand lies in
// dist/chunks/. Packages stay where npm put them.
//
// Usage: node bundle.mjs [directory]    in the root of the project; without a directory into dist/.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { build } from 'esbuild';

/** How long chunks of former builds are kept for the processes that were started from those. */
const keptMs = 7 * 24 * 60 * 60 * 1000;

const directory = resolve(process.argv[2] ?? 'dist');
const chunks = join(directory, 'chunks');

/** What is made bears this time: a source that changes from now on is newer (bin/build.sh). */
const began = new Date();

/** Nobody sees half a file, not even while another build writes the same one. */
async function replace({ path, contents }) {
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`;
  await writeFile(draft, contents);
  await utimes(draft, began, began);
  await rename(draft, path);
}

async function removeOutdated(present) {
  for (const name of await readdir(chunks)) {
    const path = join(chunks, name);
    if (present.has(path)) continue;
    // Another build may have removed it meanwhile.
    const written = await stat(path).catch(() => null);
    if (written !== null && Date.now() - written.mtimeMs > keptMs) await rm(path, { force: true });
  }
}

const programs = (await readdir('src/programs')).filter((name) => name.endsWith('.ts')).map((name) => `src/programs/${name}`);
const { outputFiles } = await build({
  entryPoints: ['src/main.ts', ...programs],
  outbase: 'src',
  outdir: directory,
  // A name tells the content: a process that runs finds what it was built with, whatever has been built since.
  chunkNames: 'chunks/[hash]',
  bundle: true,
  splitting: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  // For Node's --enable-source-maps, with which bin/start.sh and the commands of package.json run: names and lines are enough.
  sourcesContent: false,
  logLevel: 'warning',
  write: false,
}).catch(() => process.exit(1));

// What bin/build.sh has noted of the build before counts no longer.
await rm(join(directory, '.built-of'), { force: true });
for (const path of new Set(outputFiles.map((file) => dirname(file.path)))) await mkdir(path, { recursive: true });
await mkdir(chunks, { recursive: true });
const isChunk = ({ path }) => dirname(path) === chunks;
const isMain = ({ path }) => path === join(directory, 'main.js');
// Programs come last: all that they import is there. And of them the one by whose time a build is known to be whole.
await Promise.all(outputFiles.filter(isChunk).map(replace));
await Promise.all(outputFiles.filter((file) => !isChunk(file) && !isMain(file)).map(replace));
await Promise.all(outputFiles.filter(isMain).map(replace));
await removeOutdated(new Set(outputFiles.filter(isChunk).map(({ path }) => join(chunks, basename(path)))));
