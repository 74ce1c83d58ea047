import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';

new Command('docs').description('Writes the pages of docs/ that follow from the source.').parse();

const { generatedPages } = await import('./docs/pages.js');
const { schemaPage } = await import('./docs/schema-page.js');
for (const [path, text] of Object.entries({ ...generatedPages(), 'docs/reference/schema.sql': await schemaPage() })) {
  await writeFile(path, text);
  console.log(`wrote ${path}`);
}
