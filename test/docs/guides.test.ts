// docs/guides: the clients and API resources that they describe can be created as they stand there, and every trial has its page.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readGuideFiles } from '../../src/management/reference/guide-files.js';
import { trials } from '../clients/trials.js';
import { manage } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

/** For operators: run by a test of its own. */
const apart = 'configuration-as-code.md';
/** What is served of each: with the examples that it shows. */
const texts: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(readGuideFiles('guides')).map(([name, text]) => [`${name}.md`, text])),
  'README.md': readFileSync('docs/guides/README.md', 'utf8'),
};
const names = Object.keys(texts).filter((name) => name !== apart);
const read = (name: string): string => texts[name] ?? '';

/** The documents of the Management API that a guide has, also those within a list. */
function documentsOf(markdown: string): { data: { type: string } }[] {
  const found = [...markdown.matchAll(/^ *```json\n([\s\S]*?)^ *```$/gm)].map(([, text = '']) => JSON.parse(text) as object);
  return found.filter((one): one is { data: { type: string } } => 'data' in one);
}

/** Guides that a test of their own follows, request by request. */
const followed = names.filter((name) => read(name).includes('Run by the test suite: '));

test.each(names.filter((name) => name !== 'README.md' && !followed.includes(name)))('what %s creates is accepted', async (name) => {
  const documents = documentsOf(read(name));
  expect(documents.map(({ data }) => data.type)).toContain('client');
  const taken = new Set<string>();
  for (const document of documents) {
    const text = JSON.stringify(document);
    if (taken.has(text)) continue;
    taken.add(text);
    const answer = await api.post(document.data.type === 'client' ? '/clients' : '/api_resources', document);
    expect([name, answer.status, answer.text]).toEqual([name, 201, answer.text]);
    if (document.data.type === 'api_resource') await api.request('DELETE', `/api_resources/${answer.body['data'].id}`);
  }
});

/** Web and single-page clients whose ID tokens nobody reads. */
const withoutIdToken = ['own-login-pages.md'];

test('every web and single-page client that a guide makes has names and addresses in its ID tokens', async () => {
  const asked: string[] = [];
  for (const name of names) {
    for (const { data } of documentsOf(read(name))) {
      const { application_type, id_token_claims } = (data as { attributes?: Readonly<Record<string, unknown>> }).attributes ?? {};
      if (data.type !== 'client' || !['web', 'spa'].includes(String(application_type))) continue;
      asked.push(name);
      expect([name, id_token_claims]).toEqual([name, withoutIdToken.includes(name) ? undefined : 'profile']);
    }
  }
  expect(asked.length).toBeGreaterThan(35);
  expect(withoutIdToken.filter((name) => !asked.includes(name))).toEqual([]);
  const configuration = read(apart);
  const clients = [...configuration.matchAll(/^ +application_type: (?:web|spa)$/gm)].length;
  expect([...configuration.matchAll(/^ +id_token_claims: profile$/gm)]).toHaveLength(clients);
  expect(clients).toBeGreaterThan(0);
});

test('the list names every guide once, as run or as not run', async () => {
  const list = read('README.md');
  const [run = '', notRun = ''] = list.slice(list.indexOf('## Run here')).split('## Not run here');
  const linked = (text: string) => [...text.matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm)].map(([, name]) => name);
  expect(linked(run), '`npm run test:clients -- <name>` writes the line of a trial into docs/guides/README.md.').toEqual(
    trials.map(({ name }) => `${name}.md`),
  );
  expect(
    [...linked(run), ...linked(notRun), ...followed, 'README.md'].sort(),
    'A guide has a trial, says "Run by the test suite: `test/...`", or has its line under "Not run here".',
  ).toEqual([...names].sort());
});

test('what is not run says so, and what is run shows the files that are', async () => {
  for (const name of names) {
    const text = read(name);
    const isRun = trials.some((trial) => `${trial.name}.md` === name);
    if (followed.includes(name)) continue;
    if (name !== 'README.md') expect([name, /^Not run here: /m.test(text)]).toEqual([name, !isRun]);
    if (isRun) expect([name, text.includes(`<!-- file: examples/clients/${name.slice(0, -3)}/client.json -->`)]).toEqual([name, true]);
  }
});

test('a guide calls the files that it shows by their paths in the application', () => {
  const shown = names.flatMap((name) =>
    [
      ...readFileSync(`docs/guides/${name}`, 'utf8').matchAll(
        /^\[`(?:\.\/)?([^`]+)`\]\(\.\.\/\.\.\/examples\/(?:clients\/)?[^/]+\/(\S+)\)$/gm,
      ),
    ].map(([, title, file]) => ({ name, title, file })),
  );
  expect(shown.length).toBeGreaterThan(150);
  expect(shown.filter(({ title, file }) => title !== file)).toEqual([]);
  expect(names.flatMap((name) => [...read(name).matchAll(/^<!-- file: /gm)])).toHaveLength(shown.length);
});
