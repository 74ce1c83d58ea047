// docs/guides/configuration-as-code.md: its commands and its workflow are run as they stand there, against a service.
import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { exported } from '../support/configuration.js';
import { programArguments } from '../support/compiled.js';
import { manage, managementClient, type Document } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const service = sharedManagedService();
const guide = await readFile('docs/guides/configuration-as-code.md', 'utf8');
const folder = directoryOfFile();
let cli: string;

beforeAll(async () => {
  await cp('examples/configuration', folder, { recursive: true });
  cli = [process.execPath, ...(await programArguments('programs/cli'))].join(' ');
});

const secrets = { SHOP_SECRET: 's'.repeat(40), REPORTS_SECRET: 'r'.repeat(40) };

/** What a script of the guide prints, and ends with; `npm run -s cli --` is the compiled command line. */
async function shell(script: string, variables: Record<string, string> = {}): Promise<{ code: number | null; out: string }> {
  const [client_id, client_secret] = [managementClient.id, managementClient.client_secret];
  const access = { BASE_URL: service.url, MANAGEMENT_CLIENT_ID: client_id, MANAGEMENT_CLIENT_SECRET: client_secret };
  const head = `set -e\nnpm() { shift 4; ${cli} "$@"; }\n`;
  const child = spawn('bash', ['-c', head + script], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...access, ...secrets, ...variables },
  });
  const printed: Buffer[] = [];
  child.stdout.on('data', (some: Buffer) => printed.push(some));
  child.stderr.on('data', (some: Buffer) => printed.push(some));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out: Buffer.concat(printed).toString() };
}

test('every command does what the guide says, in its order', async () => {
  const scripts = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, script]) => script as string);
  expect(scripts.length).toBe(4);
  const outcomes: Awaited<ReturnType<typeof shell>>[] = [];
  for (const script of scripts) outcomes.push(await shell(script));
  expect(outcomes.map(({ code }, index) => [scripts[index], code, outcomes[index]?.out])).toEqual(
    scripts.map((script, index) => [script, 0, outcomes[index]?.out]),
  );
  const [, applied, overlaid, drift] = outcomes.map(({ out }) => out);
  expect(applied).toContain('the document is well-formed');
  expect(applied).toContain('+ client shop');
  expect(overlaid).toContain('~ client shop');
  expect(drift).toContain('as it was applied');
  expect(parse(await readFile(join(folder, 'exported.yaml'), 'utf8'))).toMatchObject({ version: 1, clients: [] });
  const document = await exported(await manage(service.url));
  expect(document['clients']).toMatchObject([
    { client_id: 'reports' },
    { client_id: 'shop', redirect_uris: ['https://shop.staging.example/callback'] },
  ]);
}, 240_000);

test('the workflow plans, keeps the plan, and applies that', async () => {
  await mkdir(join(folder, 'configuration'), { recursive: true });
  for (const name of ['environment.yaml', 'staging.yaml']) await cp(`examples/configuration/${name}`, join(folder, 'configuration', name));
  const workflow = parse(await readFile('examples/configuration/workflow.yaml', 'utf8')) as Document;
  const [plan, apply] = (workflow['jobs'].staging.steps as Document[]).filter((step) => typeof step['run'] === 'string');
  const api = await manage(service.url);
  await api.create('roles', { name: 'by hand' });
  const variables = {
    CLI: cli,
    GITHUB_ACTIONS: 'true',
    GITHUB_OUTPUT: join(folder, 'output'),
    GITHUB_STEP_SUMMARY: join(folder, 'summary'),
  };
  const planned = await shell(plan?.['run'] as string, variables);
  expect([planned.code, planned.out]).toEqual([0, expect.stringContaining('- role by hand')]);
  expect(await readFile(variables.GITHUB_OUTPUT, 'utf8')).toBe('changes=1\n');
  expect(apply?.['if']).toContain("steps.plan.outputs.changes != '0'");
  const done = await shell(apply?.['run'] as string, variables);
  expect([done.code, done.out]).toEqual([0, expect.stringContaining('1 deleted')]);
  expect((await api.get('/roles?filter[name]=by hand')).body['data']).toEqual([]);
  await writeFile(join(folder, 'configuration/staging.yaml'), 'roles:\n  - nmae: x\n');
  const wrong = await shell(plan?.['run'] as string, variables);
  expect([wrong.code, wrong.out]).toEqual([1, expect.stringContaining('::error file=configuration/staging.yaml,line=2::')]);
}, 240_000);
