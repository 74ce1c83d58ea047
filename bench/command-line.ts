// `npx tsx bench/command-line.ts`: `idp --help` and everyday tasks by `idp`, each a process of its own, against a service on this machine. `npm run build` first.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser } from '../test/support/browser.js';
import { addUser, password } from '../test/support/data.js';
import { answerDevice } from '../test/support/device.js';
import { manage, managementClient } from '../test/support/management.js';
import { killReplicas, startReplica } from '../test/support/replica.js';
import { openStandalone } from '../test/support/standalone.js';

const rounds = 5;
const users = 1_000;

/** A task; `{n}` is the round, `{user}` one of its own. `until`: it goes on for good, and is over with this text; `seen` is told of each text. */
type Task = { readonly words: readonly string[]; readonly until?: RegExp; readonly seen?: (text: string) => void };

const stage = await openStandalone({}, true);
const directory = await mkdtemp(join(tmpdir(), 'idp-bench-'));
try {
  const { id, client_secret } = managementClient;
  const settings = { MANAGEMENT_CLIENT_ID: id, MANAGEMENT_CLIENT_SECRET: client_secret };
  const replica = await startReplica(stage.url, stage.secretKey, settings, [], ['dist/main.js']);
  const api = await manage(replica.url);
  const people: string[] = [];
  for (let n = 0; n < rounds; n++) people.push((await api.create('users', { email: `somebody-${n}@example.com` }))['id'] as string);
  const file = join(directory, 'users.ndjson');
  await writeFile(file, Array.from({ length: users }, (_, n) => `${JSON.stringify({ email: `import-${n}@example.com` })}\n`).join(''));
  const exported = await api.create('user_exports', {});
  const person = await addUser(stage.ctx);
  const { id: role } = (await api.get('/roles?filter[name]=administrator')).body['data'][0] as { id: string };
  await api.post(`/users/${person.id}/relationships/roles`, { data: [{ type: 'role', id: role }] });
  const browser = new Browser(replica.url);
  await browser.login(person.email, password);
  const env = { ...process.env, HOME: directory, BASE_URL: replica.url, ...settings };

  const run = async ({ words, until, seen = () => undefined }: Task, round: number): Promise<number> => {
    const begun = performance.now();
    const typed = words.map((word) => word.replace('{n}', String(round)).replace('{user}', people[round] ?? ''));
    const child = spawn(process.execPath, ['bin/idp.mjs', ...typed], { env });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        seen(text);
        if (until?.test(said)) child.kill('SIGKILL');
      });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0 && !until?.test(said)) throw new Error(said);
    return Math.round(performance.now() - begun);
  };
  const tell = (text: string) => {
    const code = /type (\S+)$/m.exec(text)?.[1];
    if (code) void answerDevice(browser, code);
  };

  const tasks: readonly Task[] = [
    { words: ['--help'] },
    { words: ['users', 'create', '--help'] },
    { words: ['clients', 'create', '--name', 'Shop', '--client-id', 'shop-{n}', '--redirect-uris', 'https://shop.example/a'] },
    { words: ['clients', 'rotate_secret', 'shop-0'] },
    { words: ['users', 'list', '--filter', 'status=active', '--output', 'ndjson'] },
    { words: ['users', 'block', '{user}'] },
    { words: ['import', 'ndjson', file, '--dry-run'] },
    { words: ['import', 'ndjson', file, '--upsert'] },
    { words: ['users', 'list', '--all', '--output', 'ndjson'] },
    { words: ['user_exports', 'data', exported['id'] as string] },
    { words: ['events', 'list', '--follow', '--after', 'oldest'], until: /\n/ },
    { words: ['login', '--device'], seen: tell },
    { words: ['completion', 'bash'] },
    { words: ['complete', '--', 'users', 'cr'] },
  ];
  for (const task of tasks) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) times.push(await run(task, round));
    times.sort((a, b) => a - b);
    console.log(`${times[Math.floor(rounds / 2)]} ms (${times[0]} to ${times.at(-1)})  idp ${task.words.join(' ')}`);
  }
} finally {
  killReplicas();
  await stage.close();
  await rm(directory, { recursive: true, force: true });
}
