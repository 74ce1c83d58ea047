import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findUser } from '../../src/db/tables/users.js';
import { runCli } from '../support/cli.js';
import { addUser } from '../support/data.js';
import { sampleCoseKey } from '../support/reach/interesting.js';
import { sharedManagedService } from '../support/shared-service.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const service = sharedManagedService();
const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const directory = directoryOfFile();

const cli = (...words: string[]) => runCli(service.url, ...words);

async function fileOf(...lines: (object | string)[]): Promise<string> {
  const file = join(directory, `${Math.random()}.jsonl`);
  await writeFile(file, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
  return file;
}
const refusal = (file: string, ...words: string[]) =>
  cli('import-authenticators', file, ...words).then(
    () => 'nothing',
    (error: Error) => error.message,
  );

test('a file is checked, moved in once, listed, and somebody who lost it all is reset', async () => {
  const ctx = await service.context();
  const [ada, grace] = [await addUser(ctx, { email: 'Ada@example.com' }), await addUser(ctx, { email: 'grace@example.com' })];
  const rp_id = new URL(ctx.environment.issuer).hostname;
  const key = {
    kind: 'passkey',
    credential_id: 'YWRhcyBrZXk',
    public_key: sampleCoseKey,
    rp_id,
    backup_eligible: true,
    sign_count: 3,
    name: 'Laptop',
  };
  const file = await fileOf({ user: 'ada@example.com', kind: 'totp', secret, period: 60 }, '', { user: grace.id, ...key });
  expect(await cli('import-authenticators', file, '--dry-run')).toBe('2 authenticators of 2 people can be moved in; nothing was');
  expect(await findUser(ctx.scope, ada.id)).toMatchObject({ authenticator_kinds: [] });
  expect(await cli('import-authenticators', file)).toBe('2 authenticators of 2 people were moved in');
  // The same file again, after an interruption for one, moves nothing in twice.
  expect(await cli('import-authenticators', file)).toBe('2 authenticators of 2 people were moved in');
  const listed = await cli('list-authenticators');
  expect(listed.split('\n')).toHaveLength(3);
  expect(listed).toMatch(/grace@example\.com +passkey +Laptop +active +- +never/);
  expect(listed).not.toContain(secret);
  expect(await cli('list-authenticators', '--user', 'ADA@example.com', '--kind', 'passkey')).not.toContain('Laptop');
  expect(JSON.parse(await cli('--json', 'list-authenticators', '--status', 'active', '--user', grace.id))).toHaveLength(1);
  await expect(cli('reset-authenticators', 'ada@example.com')).rejects.toThrow(/Ada@example\.com .*\(totp\).*add --yes/);
  expect(await findUser(ctx.scope, ada.id)).toMatchObject({ authenticator_kinds: ['totp'] });
  expect(await cli('reset-authenticators', 'ada@example.com', '--yes')).toBe('reset: Ada@example.com');
  expect(await findUser(ctx.scope, ada.id)).toMatchObject({ authenticator_kinds: [], two_step_enabled: false });
});

test('the lines of docs/how-to/sign-in-methods.md are right', async () => {
  const ctx = await service.context();
  await ctx.db.knex('users').whereIn('email_key', ['ada@example.com', 'grace@example.com']).delete();
  for (const email of ['ada@example.com', 'grace@example.com']) await addUser(ctx, { email });
  const guide = await readFile('docs/how-to/sign-in-methods.md', 'utf8');
  const lines = /```jsonl\n([\s\S]*?)\n```/.exec(guide)?.[1]?.replaceAll('id.example.com', new URL(ctx.environment.issuer).hostname) ?? '';
  expect(await cli('import-authenticators', await fileOf(lines))).toBe('3 authenticators of 2 people were moved in');
});

test('all that is wrong with a file is told by line, and nothing of it is moved in', async () => {
  const ctx = await service.context();
  const user = await addUser(ctx);
  const key = {
    user: user.email,
    kind: 'passkey',
    credential_id: 'b25l',
    public_key: sampleCoseKey,
    rp_id: 'elsewhere.example',
    backup_eligible: false,
  };
  const file = await fileOf(
    { user: user.email, kind: 'totp', secret },
    'no json',
    ['a list'],
    { kind: 'totp', secret },
    { user: 'nobody@example.com', kind: 'totp', secret: 'short', digits: 7 },
    { user: '018f0000-0000-7000-8000-000000000000', kind: 'totp' },
    key,
    { ...key, colour: 'red' },
  );
  for (const words of [[], ['--dry-run']]) {
    const told = await refusal(file, ...words);
    for (const part of [
      'line 2: this is not JSON', 'line 3: this is not a JSON object', 'line 4: user is missing', 'line 5: there is no user nobody@example.com', 'line 5: digits', 'line 6: there is no user 018f',
      'line 6: secret: The kind totp needs secret.', 'line 7: rp_id: Passkeys of this environment belong to localhost.', 'line 8: Unrecognized key: "colour"',
      'line 8: credential_id: line 7 has the same', 'nothing was moved in',
    ]) expect(told).toContain(part); // prettier-ignore
    expect(told).not.toContain(secret);
  }
  expect(await findUser(ctx.scope, user.id)).toMatchObject({ authenticator_kinds: [] });
});

test('what the service refuses of a file that is right is told by line; the rest is moved in', async () => {
  const ctx = await service.context();
  const user = await addUser(ctx);
  const many = Array.from({ length: 6 }, (_, index) => ({ user: user.email, kind: 'totp', secret, name: `App ${index}` }));
  expect(await refusal(await fileOf(...many))).toMatch(/^line 6: A user has at most 5 of this kind\..*\n5 of 6 were moved in$/);
});

test('files that are not there, users that are not, and limits out of bounds are refused in words', async () => {
  expect(await refusal(join(directory, 'missing.jsonl'))).toMatch(/missing\.jsonl can not be read: ENOENT/);
  await expect(cli('list-authenticators', '--user', 'nobody@example.com')).rejects.toThrow('there is no user nobody@example.com');
  await expect(cli('reset-authenticators', 'nobody', '--yes')).rejects.toThrow('no such resource');
  await expect(cli('list-authenticators', '--limit', '101')).rejects.toThrow('page[size]');
});
