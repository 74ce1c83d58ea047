// `npx tsx bench/command-line.ts`: ten everyday tasks by `idp`, each a process of its own, against a service on this machine. `npm run build` first.
import { spawnSync } from 'node:child_process';
import { manage, managementClient } from '../test/support/management.js';
import { killReplicas, startReplica } from '../test/support/replica.js';
import { openStandalone } from '../test/support/standalone.js';

const rounds = 5;

const stage = await openStandalone({}, true);
try {
  const { id, client_secret } = managementClient;
  const settings = { MANAGEMENT_CLIENT_ID: id, MANAGEMENT_CLIENT_SECRET: client_secret };
  const replica = await startReplica(stage.url, stage.secretKey, settings, [], ['dist/main.js']);
  const api = await manage(replica.url);
  const user = await api.create('users', 'user', { email: 'somebody@example.com' });
  const role = await api.create('roles', 'role', { name: 'clerk' });
  const env = { ...process.env, BASE_URL: replica.url, ...settings };
  const tasks: readonly (readonly string[])[] = [
    ['--help'],
    ['users', 'create', '--help'],
    ['users', 'list', '--filter', 'status=active', '--output', 'ndjson'],
    ['users', 'create', '--email', 'ada-{n}@example.com', '--first-name', 'Ada'],
    ['users', 'update', String(user['id']), '--last-name', 'Lovelace {n}'],
    ['users', 'add_roles', String(user['id']), String(role['id'])],
    ['clients', 'create', '--name', 'Shop', '--client-id', 'shop-{n}', '--redirect-uris', 'https://shop.example/a'],
    ['clients', 'rotate_secret', 'shop-0'],
    ['audit_logs', 'list', '--output', 'json'],
    ['diagnostics'],
  ];
  for (const words of tasks) {
    const times = Array.from({ length: rounds }, (_, n) => {
      const begun = performance.now();
      const { status, stderr } = spawnSync(process.execPath, ['bin/idp.mjs', ...words.map((word) => word.replace('{n}', String(n)))], { env, encoding: 'utf8' }); // prettier-ignore
      if (status !== 0 && words[0] !== 'diagnostics') throw new Error(stderr);
      return Math.round(performance.now() - begun);
    }).sort((a, b) => a - b);
    console.log(`${times[Math.floor(rounds / 2)]} ms (${times[0]} to ${times.at(-1)})  idp ${words.join(' ')}`);
  }
} finally {
  killReplicas();
  await stage.close();
}
