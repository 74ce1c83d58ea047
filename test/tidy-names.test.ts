// One name, one meaning: what src exports has a name of its own, and words that mean too many things name nothing.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

type Named = { readonly name: string; readonly at: string };

const paths = (await readdir('src', { recursive: true })).filter((path) => path.endsWith('.ts')).map((path) => join('src', path));
const sources = await Promise.all(paths.map(async (path) => ({ path, code: withoutComments(await readFile(path, 'utf8')) })));

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, (comment) => comment.replace(/[^\n]/g, ' '));
}

function namesBy(pattern: RegExp): Named[] {
  return sources.flatMap(({ path, code }) =>
    [...code.matchAll(pattern)].flatMap((match) =>
      // A name that is taken apart declares each of its members: `{ one, two: other }`, `[one, two]`.
      [...(match.slice(1).find((one) => one !== undefined) ?? '').replaceAll(/\w+\s*:(?!:)/g, '').matchAll(/[A-Za-z_$][\w$]*/g)].map(
        ([name]) => ({ name, at: `${path}:${code.slice(0, match.index).split('\n').length}` }),
      ),
    ),
  );
}

/** What a module declares and exports; `export { one } from` declares nothing. */
const exported =
  /^export (?:(?:const|let) (\w+|\{[^}]*\}|\[[^\]]*\])|(?:async )?(?:function\*?|abstract class|class|type|interface|enum) (\w+))/gm;

/** Variables, functions, types, and parameters; not members, which may be columns or bear the names of the wire. */
const declared =
  /\b(?:const|let|function\*?|class|type|interface) (\w+|\{[^}=]*\}|\[[^\]=]*\])|(?<=[(,]\s*)(\w+)(?=\??: (?:readonly |string|number|boolean|\(|\{|[A-Z]))|(?<=\()(\w+)(?=(?:, \w+)*\) =>)/g;

/** Said of many things, each of which has a name; what to say instead, by what it is. */
const instead: Readonly<Record<string, string>> = {
  within: '`boundedBy`, `withTimeout`, `inTransaction`, `inEnvironment`, `sections`, `conditions`',
  look: '`view`, `probe`, `readOnly`, `search`',
  Look: '`CheckContext`, `Probe`, a verdict',
  Looks: '`Branding`',
  Place: '`Aad`, `FilePosition`, `ClaimTarget`',
  placeOf: '`aadOf`, `documentPointer`, `attributeOf`',
  hungry: '`needsJobs`',
  isHungry: '`needsJobs`',
  refillable: '`canTakeMore`',
  isRefillable: '`canTakeMore`',
  surplus: '`excess`, `removed`',
  room: '`capacity`, `limit`',
  patrol: '`fullScan`',
  standing: '`status`',
  force: '`effectiveScope`',
  Force: '`EffectiveScope`',
  Due: '`RequiredStep`, `DueDestination`',
  lack: '`unmet`, `missing`',
  demand: '`requirement`, `request`',
  Asking: 'what it is: `InteractionInput`, `ConfirmForm`',
  asking: '`input`, `pending`',
  well: '`okText`, `okIds`',
  Beside: '`TokenExtras`',
  Kept: 'what is cached or stored: `CachedLogo`, `StoredReply`',
  Wanted: '`RequestedAccess`',
  Silence: '`SuspectConnections`',
  asked: '`requested`, `listQuery`, `filters`',
  told: '`logged`, `recorded`, `refusal`',
  wanted: '`requested`, `input`, `expected`',
  said: '`text`, `claimed`, `reason`',
  parts: '`sections`, `pageQuery`, `tables`, `texts`',
  place: '`position`, `location`, `rank`',
  kept: '`cached`, `stored`, `masked`',
  arrivals: '`selfRegisteredClients`',
  beside: '`extras`, `newTab`',
  Asked: '`NewClient`, `PreviewRequest`',
  Told: '`ShownRefusal`, `OperationSpec`',
  chronology: 'the order: `-created_at`',
};

test('what two modules export has two names', () => {
  const places = new Map<string, string[]>();
  for (const { name, at } of namesBy(exported)) places.set(name, [...(places.get(name) ?? []), at]);
  expect(places.size).toBeGreaterThan(2_500);
  const twice = [...places]
    .filter(([, found]) => new Set(found.map((at) => at.split(':')[0])).size > 1)
    .map(([name, found]) => `${name}: ${found.join(', ')}`);
  expect(twice, 'Name each for what it is, as `users` (resource), `usersPresentation` (dashboard) and `webhooksCheck` (doctor).').toEqual(
    [],
  );
});

test('a word that means many things names nothing', () => {
  const names = namesBy(declared);
  expect(names.length).toBeGreaterThan(20_000);
  const vague = names.filter(({ name }) => Object.hasOwn(instead, name)).map(({ name, at }) => `${at} ${name}: ${instead[name]}`);
  expect(vague, 'Say what it is.').toEqual([]);
});
