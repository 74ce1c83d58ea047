import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The directory that holds package.json: the same whether the code runs from its place in src/ or from a file of dist/. */
export const packageRoot = nearestPackage(import.meta.dirname);

function nearestPackage(directory: string): string {
  const parent = dirname(directory);
  return existsSync(join(directory, 'package.json')) || parent === directory ? directory : nearestPackage(parent);
}
