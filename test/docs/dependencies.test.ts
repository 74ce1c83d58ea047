import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { reasons } from '../../src/programs/docs/dependency-reasons.js';

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, Record<string, string>>;

test('every direct dependency says why it is there, and nothing is explained that is gone', () => {
  const direct = ['dependencies', 'optionalDependencies', 'devDependencies'].flatMap((kind) => Object.keys(manifest[kind] ?? {}));
  expect(Object.keys(reasons).sort()).toEqual(direct.sort());
});

test('the bill of materials names every dependency of the service with version and digest, and none that only tests need', () => {
  type Bom = { bomFormat: string; components: { name: string; version: string; hashes?: object[] }[] };
  const bom = JSON.parse(execFileSync('npm', ['run', '-s', 'sbom'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })) as Bom;
  expect(bom.bomFormat).toBe('CycloneDX');
  const named = new Map(bom.components.map((component) => [component.name, component]));
  for (const name of Object.keys(manifest['dependencies'] ?? {})) {
    expect(named.get(name)).toMatchObject({
      name,
      version: expect.stringMatching(/^\d/) as string,
      hashes: [expect.objectContaining({ alg: 'SHA-512' })],
    });
  }
  expect([...named.keys()].filter((name) => ['vitest', 'oidc-provider', 'typescript'].includes(name))).toEqual([]);
});
