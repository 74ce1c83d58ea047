// Configuration as code from the command line: files, overlays, secrets, plans that are kept, exit codes, workflows.
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { CliError } from '../../src/programs/cli/api.js';
import { createProgram } from '../../src/programs/cli/program.js';
import { accessTo, runCli } from '../support/cli.js';
import { shopDocument, shopSecrets } from '../support/configuration.js';
import { manage, type Document } from '../support/management.js';
import { sharedManagedService } from '../support/shared-service.js';
import { processorMs } from '../support/processor-time.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const service = sharedManagedService();
const folder = directoryOfFile();

type Ended = { out: string; code: number };

/** A command as a shell runs it: what it prints, refusals included, and what it ends with. */
async function cli(words: string[], variables: NodeJS.ProcessEnv = {}, access = true): Promise<Ended> {
  const printed: string[] = [];
  let code = 0;
  const address = ['--url', service.url];
  try {
    await createProgram((text) => printed.push(text), { exit: (given) => (code = given), variables })
      .exitOverride()
      .configureOutput({ writeErr: (text) => printed.push(text) })
      .parseAsync([...(access ? accessTo(service.url) : address), 'config', ...words], { from: 'user' });
  } catch (error) {
    printed.push((error as Error).message);
    code = 1;
  }
  return { out: printed.join('\n'), code };
}

const at = (name: string) => join(folder, name);
const put = async (name: string, content: unknown): Promise<string> => {
  await writeFile(at(name), typeof content === 'string' ? content : stringify(content));
  return at(name);
};
const variables = Object.fromEntries(
  Object.entries(shopSecrets).flatMap(([name, value]) => (name.startsWith('env:') ? [[name.slice(4), value]] : [])),
);
const roles = (...names: string[]) => ({ version: 1, roles: names.map((name) => ({ name })) });

test('plan ends with 2 and says what there is to do, apply does it and ends with 0, as does a plan when nothing is left', async () => {
  await put('hook.secret', `${shopSecrets['file:/run/secrets/hook']}\n`);
  const document = { ...shopDocument, webhooks: [{ ...shopDocument['webhooks'][0], signing_secret: { file: at('hook.secret') } }] };
  const file = await put('shop.yaml', document);
  const planned = await cli(['plan', '-f', file], variables);
  expect(planned.code).toBe(2);
  expect(planned.out.split('\n')).toEqual(
    expect.arrayContaining(['~ environment default', '+ client shop', '+ role clerk', '    client_secret: "[secret]"', '22 to create, 1 to change, 0 to delete']), // prettier-ignore
  );
  expect(await cli(['drift'])).toMatchObject({ out: 'no document was applied yet', code: 0 });
  expect(await cli(['apply', '-f', file], variables)).toMatchObject({
    code: 0,
    out: expect.stringContaining('22 created, 1 changed, 0 deleted'),
  });
  expect(await cli(['plan', '-f', file], variables)).toEqual({ out: 'nothing to do', code: 0 });
  expect(await cli(['drift'])).toEqual({ out: 'as it was applied', code: 0 });
  const api = await manage(service.url);
  await api.update('clients', 'shop', { name: 'By hand' });
  const drift = await cli(['drift']);
  expect(drift.code).toBe(2);
  expect(drift.out).toMatch(
    /^~ client shop \(\d{4}-.*Z by Management client\)\n {4}name: "Shop" -> "By hand"\n0 added, 1 changed, 0 deleted$/,
  );
});

test('export prints YAML that applies again, with references for secrets; --json prints JSON', async () => {
  const { out, code } = await cli(['export']);
  expect([code, out.split('\n')[0]]).toEqual([0, `# yaml-language-server: $schema=${service.url}/api/config/schema.json`]);
  expect(parse(out).clients.find((one: Document) => one['client_id'] === 'shop').client_secret).toEqual({ env: 'CLIENT_SHOP_SECRET' });
  const file = at('exported.yaml');
  await cli(['export', '-o', file]);
  expect(await cli(['plan', '-f', file])).toMatchObject({ code: 0, out: expect.stringContaining('nothing to do') });
  const access = await createJson();
  expect(JSON.parse(access)).toEqual(parse(out));
});

const createJson = () => runCli(service.url, '--json', 'config', 'export');

test('a second file is laid over the first by key; attributes are replaced as a whole', async () => {
  const base = await put('base.yaml', {
    version: 1,
    environment: { otp_lifetime: 300, branding: { name: 'Base', primary_color: '#112233' } },
    api_resources: [{ identifier: 'urn:o:1', name: 'One', permissions: [{ name: 'a', description: 'old' }, { name: 'b' }] }],
    roles: [{ name: 'one', description: 'base' }, { name: 'two' }],
  });
  const over = await put('over.yaml', {
    environment: { branding: { name: 'Over' } },
    api_resources: [{ identifier: 'urn:o:1', permissions: [{ name: 'a', description: 'new' }, { name: 'c' }] }],
    roles: [{ name: 'three' }, { name: 'one', description: 'over' }],
  });
  const out = at('overlaid.json');
  await cli(['plan', '-f', base, '-f', over, '--out', out]);
  expect(JSON.parse(await readFile(out, 'utf8')).document).toEqual({
    version: 1,
    environment: { otp_lifetime: 300, branding: { name: 'Over' } },
    api_resources: [{ identifier: 'urn:o:1', name: 'One', permissions: [{ name: 'a', description: 'new' }, { name: 'b' }, { name: 'c' }] }],
    roles: [{ name: 'one', description: 'over' }, { name: 'two' }, { name: 'three' }],
  });
  const wrong = await put('wrong.yaml', 'roles:\n  - name: one\n    is_default: maybe\n');
  const refused = await cli(['plan', '-f', base, '-f', wrong]);
  expect(refused).toMatchObject({ code: 1, out: expect.stringContaining(`${wrong}:3: `) });
});

test('problems are told with file and line, as annotations too in a workflow, with a summary and an output (attack 33.697)', async () => {
  const text =
    'version: 1\nroles:\n  - name: fine\n    descriptio: x\nclients:\n  - client_id: w\n    name: W\n    redirect_uris:\n      - https://ok.example/\n      - http://bad.example/\n';
  const file = await put('lines,1:%.yaml', text);
  const { out, code } = await cli(['plan', '-f', file]);
  expect(code).toBe(1);
  expect(out).toContain(
    `${file}:4: "descriptio" is not a member that a configuration document has here. Did you mean "description"? (unknown_member)`,
  );
  expect(out).toContain(`${file}:10: `);
  const workflow = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: at('summary.md'), GITHUB_OUTPUT: at('output') };
  const annotated = await cli(['plan', '-f', file], workflow);
  expect(annotated.out).toContain(`::error file=${folder}/lines%2C1%3A%25.yaml,line=4::"descriptio" is not`);
  const hostile = await put('hostile.yaml', { version: 1, roles: [{ name: 'evil | <img src=x> `x` ::error::y' }] });
  expect((await cli(['plan', '-f', hostile], workflow)).code).toBe(2);
  const summary = await readFile(at('summary.md'), 'utf8');
  expect(summary).toContain('### Configuration: plan\n\n1 to create, 0 to change, 0 to delete.');
  expect(summary).toContain('| create | role | evil &#124; &#60;img src=x&#62; &#96;x&#96; ::error::y |');
  expect(await readFile(at('output'), 'utf8')).toBe('changes=1\n');
});

test('a plan that is kept is applied as it is or not at all', async () => {
  const file = await put('kept.yaml', roles('kept'));
  const plan = at('kept.plan');
  expect((await cli(['plan', '-f', file, '--out', plan])).code).toBe(2);
  expect((await stat(plan)).mode & 0o777).toBe(0o600);
  const api = await manage(service.url);
  await api.create('roles', { name: 'in between' });
  expect(await cli(['apply', '--plan', plan])).toMatchObject({ code: 1, out: expect.stringContaining('state_changed') });
  expect((await api.get('/roles?filter[name]=kept')).body['data']).toEqual([]);
  await cli(['plan', '-f', file, '--out', plan]);
  const kept = JSON.parse(await readFile(plan, 'utf8')) as Document;
  await writeFile(plan, JSON.stringify({ ...kept, document: roles('kept', 'smuggled') }));
  expect(await cli(['apply', '--plan', plan])).toMatchObject({ code: 1, out: expect.stringContaining('something else than was planned') });
  await writeFile(plan, JSON.stringify(kept));
  expect(await cli(['apply', '--plan', plan, '-f', file])).toMatchObject({ code: 1, out: expect.stringContaining('leave out -f') });
  expect(await cli(['apply', '--plan', plan])).toMatchObject({ code: 0, out: expect.stringContaining('+ role kept') });
  expect((await cli(['apply', '--plan', file])).out).toContain('is no plan');
});

test('secrets that are made need a new file of their own, which nobody else can read; without one nothing is done', async () => {
  const file = await put('made.yaml', { version: 1, clients: [{ client_id: 'made', name: 'Made', application_type: 'machine' }] });
  const refused = await cli(['apply', '-f', file]);
  expect(refused).toMatchObject({ code: 1, out: expect.stringContaining('client_secret of client made') });
  const api = await manage(service.url);
  expect((await api.get('/clients/made')).status).toBe(404);
  const taken = await put('taken.json', 'mine');
  expect((await cli(['apply', '-f', file, '--secrets-out', taken])).out).toContain('is there already');
  const done = await cli(['apply', '-f', file, '--secrets-out', at('secrets.json')]);
  expect(done).toMatchObject({ code: 0, out: expect.stringContaining('* client made gets a new client_secret') });
  const [made] = JSON.parse(await readFile(at('secrets.json'), 'utf8')).secrets as Document[];
  expect([(await stat(at('secrets.json'))).mode & 0o777, made?.['value']]).toEqual([0o600, expect.stringMatching(/^cs_/)]);
  expect(done.out).not.toContain(made?.['value']);
});

test('validate needs no service and no credentials', async () => {
  const good = await put('good.yaml', shopDocument);
  expect(await cli(['validate', '-f', good], {}, false)).toEqual({ out: 'the document is well-formed', code: 0 });
  const bad = await put('bad.yaml', 'version: 1\nroles: [{name: a}, {name: a}]\nclients:\n  - client_id: x\n    client_secret: hunter2\n');
  const { out, code } = await cli(['validate', '-f', bad], {}, false);
  expect([code, out]).toEqual([1, expect.stringContaining(`${bad}:5: "client_secret" takes where the secret is`)]);
  expect(out).toContain(`${bad}:2: "a" appears in the document twice`);
  expect(out).not.toContain('hunter2');
  expect((await cli(['plan', '-f', good], {}, false)).out).toContain("required option '--client-id <id>' not specified");
  expect((await cli(['validate'], {}, false)).out).toContain('name a document');
});

test('aliases unfold within bounds; bombs, cycles, tags, repeated members and what is no JSON are refused (attack 33.698)', async () => {
  const anchors = await put(
    'anchors.yaml',
    'version: 1\nroles:\n  - &one {name: one, description: &d same}\n  - {name: two, description: *d}\n',
  );
  expect((await cli(['validate', '-f', anchors], {}, false)).code).toBe(0);
  const laughs = Array.from({ length: 12 }, (_, index) => `a${index + 1}: &a${index + 1} [${Array(9).fill(`*a${index}`).join(', ')}]`);
  const bombs: [string, string, RegExp][] = [
    ['bomb.yaml', `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${laughs.join('\n')}\n`, /unfolds to too much|nested too deeply/],
    ['cycle.yaml', 'roles: &r [*r]\n', /names what it stands in|[Uu]nresolved alias/],
    ['deep.yaml', `${'['.repeat(200)}${']'.repeat(200)}`, /nested too deeply/],
    ['list.yaml', `version: 1\nroles:\n  ${'- '.repeat(20_000)}\n`, /:3: this is nested too deeply/],
    ['indented.yaml', Array.from({ length: 1000 }, (_, index) => `${' '.repeat(index)}a:`).join('\n'), /:501: this is nested too deeply/],
    ['one.yaml', 'version: 1\nroles:\n  - {name: x, 1: a, "1": b}\n', /:3: a member appears here twice/],
    ['merge.yaml', 'version: 1\nroles:\n  - &one {name: x}\n  - {<<: *one}\n', /"<<" is not a member/],
    ['date.yaml', 'version: 1\nroles:\n  - {name: 2026-01-01, is_default: yes}\n', /:3: .*expected boolean/],
    ['octal.yaml', 'version: 01\nroles:\n  - {name: 0o17}\n', /:3: .*expected string/],
    ['tag.yaml', 'version: !!js/function "x"\n', /:1: /],
    ['twice.yaml', 'version: 1\nroles: []\nroles: []\n', /:3: .*unique/],
    ['number.yaml', 'version: .inf\n', /:1: a number has to be finite/],
    ['two.yaml', 'version: 1\n---\nversion: 1\n', /multiple documents|:2: /],
    ['broken.yaml', 'version: 1\nroles: [\n', /broken\.yaml:\d+: /],
  ];
  for (const [name, text, told] of bombs) {
    const ms = await processorMs(async () => {
      const { out, code } = await cli(['validate', '-f', await put(name, text)], {}, false);
      expect([name, code, out]).toEqual([name, 1, expect.stringMatching(told)]);
    });
    expect(ms).toBeLessThan(5000);
  }
  const proto = await put('proto.yaml', 'version: 1\nroles:\n  - name: x\n    __proto__: {is_default: true}\n');
  expect(await cli(['validate', '-f', proto], {}, false)).toMatchObject({
    code: 1,
    out: expect.stringContaining(`${proto}:4: "__proto__"`),
  });
  const large = await put('large.yaml', `# ${'x'.repeat(5 * 1024 * 1024)}\nversion: 1\n`);
  expect((await cli(['validate', '-f', large], {}, false)).out).toContain('is longer than 5242880 bytes');
  const endless = await put('endless.yaml', 'version: 1\nclients:\n  - {client_id: x, client_secret: {file: /dev/zero}}\n');
  expect(await cli(['plan', '-f', endless])).toMatchObject({
    code: 1,
    out: expect.stringContaining('/dev/zero is longer than 65536 bytes'),
  });
});

test('what a terminal would obey is shown as what it is (attack 33.699)', async () => {
  const api = await manage(service.url);
  const role = await api.create('roles', { name: 'evil' });
  // From when names could hold anything.
  await service.deps.db
    .knex('roles')
    .where({ id: role['id'] as string })
    .update({ name: 'evil \u009b2J\u202e' });
  const file = await put('none.yaml', { version: 1, roles: [] });
  const { out } = await cli(['plan', '-f', file, '--prune']);
  expect(out).toContain('- role evil \\u{9b}2J\\u{202e}');
  expect(out).not.toMatch(/[\u009b\u202e]/);
});

test('a service that is away, and files that are, are told in a sentence', async () => {
  expect((await cli(['plan', '-f', at('nowhere.yaml')])).out).toContain('can not be read: ENOENT');
  const printed = createProgram(() => undefined).parseAsync(['--url', 'http://127.0.0.1:9', '--client-id', 'x', '--client-secret', 'y', 'config', 'export'], { from: 'user' }); // prettier-ignore
  await expect(printed).rejects.toThrow(CliError);
});
