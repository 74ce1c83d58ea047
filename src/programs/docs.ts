import { writeFile } from 'node:fs/promises';
import { generatedPages } from './docs/pages.js';

for (const [path, text] of Object.entries(generatedPages())) {
  await writeFile(path, text);
  console.log(`wrote ${path}`);
}
