// Prints a bill of materials (CycloneDX, JSON) of all that an installation holds: `npm run -s sbom`.
// `npm sbom --omit dev` also leaves out whatever a development dependency happens to need too; so the lock file says what is shipped.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { packageRoot } from '../lib/package-root.js';

new Command('sbom').description('Prints a bill of materials (CycloneDX, JSON) of all that an installation holds.').parse();

type Component = { readonly 'bom-ref': string };
type Dependency = { readonly ref: string; readonly dependsOn?: readonly string[] };
type Bom = { components: Component[]; dependencies: Dependency[]; metadata: { component: Component } };

const lock = JSON.parse(readFileSync(join(packageRoot, 'package-lock.json'), 'utf8')) as {
  packages: Readonly<Record<string, { readonly version: string; readonly dev?: true }>>;
};
const shipped = new Set(
  Object.entries(lock.packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`),
);

const command = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
const bom = JSON.parse(execFileSync('npm', command, { cwd: packageRoot, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })) as Bom;
const included = new Set([bom.metadata.component['bom-ref'], ...shipped]);
const printed: Bom = {
  ...bom,
  components: bom.components.filter((component) => included.has(component['bom-ref'])),
  dependencies: bom.dependencies
    .filter(({ ref }) => included.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => included.has(other)) })),
};
process.stdout.write(`${JSON.stringify(printed, null, 2)}\n`);
