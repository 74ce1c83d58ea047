// The house rules that a compiler can't check. Each failure says what to do instead.
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { circularImports, type FolderImport } from './support/import-circles.js';
import { programs } from './support/programs.js';

type Source = { readonly path: string; readonly text: string; readonly code: string };

const sources = await read('src', /\.ts$/);
const views = await read('views', /\.ejs$/);
const migrations = (await readdir('migrations')).sort();

/** A file imports from floors below its own. */
const floors: readonly (readonly string[])[] = [
  ['lib', 'errors.ts', 'config.ts'],
  ['platform'],
  ['db'],
  ['domain'],
  ['http'],
  ['oauth', 'account', 'sso', 'scim', 'ssf', 'outbox', 'jobs'],
  ['saml'],
  ['management'],
  ['dashboard', 'setup'],
  ['app.ts'],
];

/**
 * The floors of src/domain. Rules: types and pure functions, and what a process remembers, without a statement. Subjects, which are all that isn't named here:
 * operations on one subject's tables, and what follows from them at the subjects that it rests on. Stories: what people and administrators go through, over
 * several subjects in one transaction.
 */
const domainFloor = {
  rules: 'actor.ts changes.ts context.ts environment.ts origin.ts refusal.ts cache claims notes passwords proofs saml'.split(' '),
  stories: 'approvals assertions configuration credentials directories provider-signals registration sign-ins'.split(' '),
};

/** Modules with a state of their own, each for a reason. What one service has and another hasn't is in `Deps`, or in the object that needs it. */
const statefulModules: Readonly<Record<string, string>> = {
  'src/lib/random.ts': 'random bits are drawn ahead: one call of the system for many tokens',
  'src/lib/turns.ts': 'there is one event loop in a process, whose turns long work shares',
};

/** What makes an object without a state, though it is called `create`. */
const statelessMakers = ['createRequire', 'createTemplates', 'createOidcStrategy', 'createOAuth2Strategy'];

async function read(directory: string, pattern: RegExp): Promise<Source[]> {
  const names = await readdir(directory, { recursive: true });
  const paths = names.filter((name) => pattern.test(name)).map((name) => join(directory, name));
  return Promise.all(
    paths.map(async (path) => {
      const text = await readFile(path, 'utf8');
      return { path, text, code: withoutComments(text) };
    }),
  );
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, (comment) => comment.replace(/[^\n]/g, ' '));
}

/** Blanks what is inside of quotes and between back-ticks (not the code of placeholders), so that words in texts aren't taken for code. */
function withoutTexts(code: string): string {
  const blank = (text: string) => text.replace(/[^\n]/g, ' ');
  const regexps = code.replace(/(?<=[=(,:[!&|?{;]\s*|\}\s+|return )\/(?![/*])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\n\\])+\/[a-z]*/g, blank);
  const quoted = regexps.replace(/'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, (text) => `'${blank(text.slice(1, -1))}'`);
  // Back-ticks: the pieces outside of placeholders, from the inside out.
  return quoted.replace(/`(?:\\[\s\S]|[^`\\])*`/g, (text) =>
    text.replace(/(^`|\})((?:\\[\s\S]|[^`$\\]|\$(?!\{))*)(?=\$\{|`$)/g, (_all, open: string, words: string) => open + blank(words)),
  );
}

/** `for (const x in y)` and mapped types are no look-ups, nor is `'literal' in object`, whose name the code writes down. */
function allowsIn(files: readonly Source[], place: string): boolean {
  const [path = '', line = '0'] = place.split(':');
  const text = files.find((file) => file.path === path)?.code.split('\n')[Number(line) - 1] ?? '';
  return /\[\w+ in |for \((?:const|let) \w+ in /.test(text);
}

/** Where a pattern occurs, as `path:line`, in all files but the exempt ones. */
const places = (files: readonly Source[], pattern: RegExp, exempt: (path: string) => boolean = () => false): string[] =>
  files
    .filter((file) => !exempt(file.path))
    .flatMap(({ path, code }) => [...code.matchAll(pattern)].map((match) => `${path}:${code.slice(0, match.index).split('\n').length}`));

/** Tables without a file of their own belong to the file of what they are part of. */
const partOf: Readonly<Record<string, string>> = {
  role_permissions: 'roles',
  user_roles: 'roles',
  secret_key_holders: 'secret_keys',
  log_stream_entries: 'log_streams',
  signals: 'signal_sets',
  signal_exclusions: 'signal_sets',
  webhook_delivery_attempts: 'webhook_deliveries',
  troubled_deliveries: 'webhook_deliveries',
  organization_group_members: 'organization_groups',
  organization_group_roles: 'organization_groups',
  user_import_chunks: 'user_imports',
  user_import_errors: 'user_imports',
  user_import_keys: 'user_imports',
};

/** Files that write more than their own table, each for a reason: what is written must be one statement with the rest of it. */
const writesAlso: Readonly<Record<string, readonly string[]>> = {
  // A grant is spent and what follows from it stored by one statement of the hot path.
  authorization_codes: ['access_tokens', 'refresh_tokens', 'session_clients'],
  // A question is stored with what its client waits with, and ends with it.
  approvals: ['device_codes'],
  device_redemptions: ['device_codes', 'access_tokens', 'refresh_tokens', 'session_clients'],
  refreshes: ['refresh_tokens', 'access_tokens', 'authorizations'],
  // What goes with the rows of a partition, by the ids of that.
  partitioned: ['event_retention', 'webhook_deliveries'],
  // What clients' own tokens are stored with: the other side of access_tokens.
  client_tokens: ['access_tokens'],
  // What somebody allows is one statement with its entry, so that it needs no transaction.
  consents: ['audit_logs'],
  // What an exchanged token leaves behind, whatever that is, is one statement.
  exchanged_tokens: ['access_tokens', 'audit_logs'],
  // The same of an identity assertion: issued, the authorization and the refresh token behind it are used; redeemed, it is spent.
  issued_assertions: ['refresh_tokens', 'authorizations', 'audit_logs'],
  redeemed_assertions: ['access_tokens', 'audit_logs'],
  // One is handed out with its trace, and ended with what is to be revoked at the provider.
  provider_tokens: ['refresh_tokens', 'audit_logs', 'provider_token_revocations'],
  // A try is counted together with the passcode that it was made at.
  passcodes: ['passcode_budgets'],
  // A code is spent and what is left of its set counted down together.
  recovery_codes: ['authenticators'],
  // What a client holds of a person ends at once.
  authorizations: ['revocations', 'access_tokens', 'revocation_feed'],
  // Revocation spans the kinds of tokens.
  revocations: ['access_tokens', 'refresh_tokens'],
  // The queue's side of webhooks and their deliveries: an attempt moves its delivery and counts at its webhook, or neither.
  webhook_recording: ['webhook_deliveries', 'webhooks'],
  webhook_disabling: ['webhook_deliveries', 'webhooks'],
  removed_webhooks: ['webhook_deliveries'],
  // A stream and what waits for it: what was pushed goes with the record of that, and too much pauses it.
  signal_streams: ['signal_sets'],
  signal_sets: ['signal_streams'],
  // Whether nobody uses a client is decided over consents and refresh tokens, by the statement that removes it.
  unused_clients: ['clients'],
  document_clients: ['clients'],
  // A password is counted before it is looked at, for the browser and the account at once.
  browser_lockouts: ['users'],
};

/** The tables that a file in src/db names as what it writes, or queries with the builder, as `path:line table`. Joins may name any. */
function tablesNamed({ path, code }: Source): { at: string; file: string; table: string }[] {
  const naming =
    /\b(?:insert into|delete from)\s+(\w+)|\bupdate\s+(\w+)(?=\s+(?:\w+\s+)?set\b)|\b(?:table|insert|update|remove)(?:<[^>(]*>)?\(\s*[\w.]*scope,\s*'(\w+)'|\b(?:knex|trx)(?:<[^(]*>)?\('(\w+)'/g;
  const file = path.split('/').at(-1)?.replace(/\.ts$/, '') ?? '';
  return [...code.matchAll(naming)].map((match) => {
    const table = match.slice(1).find((name) => name !== undefined) ?? '';
    return { at: `${path}:${code.slice(0, match.index).split('\n').length} ${table}`, file, table: partOf[table] ?? table };
  });
}

/** `src/domain/users/users.ts` is at home in `core`, `src/app.ts` in itself. */
const home = (path: string): string => path.split('/')[1] ?? '';

/** The composition root (main.ts, app.ts and what starts like them) stands on top of everything. */
function floorOf(path: string): number {
  const floor = floors.findIndex((names) => names.includes(home(path)));
  return floor === -1 ? floors.length : floor;
}

function importsOf({ path, code }: Source): string[] {
  const relative = [...code.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) => match[1] ?? '');
  return relative.map((target) => normalize(join(dirname(path), target)).replace(/\.js$/, '.ts'));
}

/** The imports between the folders of a directory; a file beside the folders counts as one. Imports of types count as all others do. */
function folderImports(directory: string): FolderImport[] {
  const depth = directory.split('/').length;
  const folderOf = (path: string) => path.split('/')[depth] ?? '';
  return sources
    .filter(({ path }) => path.startsWith(`${directory}/`))
    .flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith(`${directory}/`) && folderOf(target) !== folderOf(file.path))
        .map((target) => ({ from: folderOf(file.path), to: folderOf(target), says: `${file.path} imports ${target}` })),
    );
}

describe('folders', () => {
  test('import each other in no circle, nor do the files beside them', () => {
    // `src` itself has `floors`.
    const directories = new Set(sources.flatMap(({ path }) => [...path.matchAll(/(?<!^src)\//g)].map(({ index }) => path.slice(0, index))));
    expect(directories.size).toBeGreaterThan(80);
    expect(
      [...directories].flatMap((directory) => circularImports(folderImports(directory))),
      'Folders that import each other are one knot. Move the file that both need to the lower folder, or the one that knows both to a story.',
    ).toEqual([]);
  });

  test('of src/domain stand on three floors, and import from their own or a lower one', () => {
    const found = new Set(sources.filter(({ path }) => path.startsWith('src/domain/')).map(({ path }) => path.split('/')[2] ?? ''));
    const named = [...domainFloor.rules, ...domainFloor.stories];
    expect(named.filter((folder) => !found.has(folder)), 'These are no longer there: take them out of `domainFloor`.').toEqual([]); // prettier-ignore
    const floor = (folder: string) => (domainFloor.rules.includes(folder) ? 0 : domainFloor.stories.includes(folder) ? 2 : 1);
    const upward = folderImports('src/domain').filter(({ from, to }) => floor(to) > floor(from));
    expect(
      upward.map(({ says }) => says),
      'Rules know no subject, and a subject no story. Move what both need down, or the file that tells a story up; a folder of stories is named in `domainFloor`.',
    ).toEqual([]);
  });

  test('of rules hold no statement', () => {
    const tables = /import \{(?:\s*type \w+(?:,|(?=\s*\})))*\s*(?!type )\w+[^}]*\} from '[^']*\/db\/tables\//g;
    const rules = sources.filter(({ path }) => domainFloor.rules.includes(path.split('/')[2] ?? '') && path.startsWith('src/domain/'));
    expect(places(rules, tables), 'A rule is handed what it judges. An operation belongs into the folder of its subject.').toEqual([]);
  });
});

describe('src', () => {
  test('imports go down', () => {
    const upward = sources.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith('src/') && floorOf(target) > floorOf(file.path))
        .map((target) => `${file.path} imports ${target}`),
    );
    expect(upward, 'Imports go down. Move what both need to the lower floor, or pass it in as an argument.').toEqual([]);
  });

  test('no feature imports another', () => {
    const sideways = sources.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith('src/') && home(target) !== home(file.path))
        .filter((target) => floorOf(target) === floorOf(file.path) && floorOf(target) > 0 && floorOf(target) < floors.length - 1)
        .map((target) => `${file.path} imports ${target}`),
    );
    expect(sideways, 'Features do not import each other. What two of them need is an operation: move it to src/domain.').toEqual([]);
  });

  test('queries live in src/db', () => {
    const raw =
      /\bknex\s*[(<`]|\bknex\.(?:raw|select|from|into|insert|table|schema|with|queryBuilder)\b|import (?!type)[^;]*? from '(?:knex|pg)'/g;
    expect(
      places(sources, raw, (path) => path.startsWith('src/db/')),
      'Raw Knex belongs in src/db. Write a function in src/db/tables and reach environment data through the scope.',
    ).toEqual([]);
  });

  test('a table is named by its own file alone', () => {
    const door = /import \{[^}]*\b(?:table|insert|update|remove|run)\b[^}]*\} from '[^']*\/db\/scope\.js'/g;
    expect(
      places(sources, door, (path) => path.startsWith('src/db/')),
      'Tables are reached through the functions of src/db/tables. Write one in the file of the table.',
    ).toEqual([]);
    const named = sources.filter(({ path }) => path.startsWith('src/db/tables/')).flatMap(tablesNamed);
    const foreign = named.filter(({ file, table }) => table !== file && !writesAlso[file]?.includes(table));
    expect(
      foreign.map(({ at }) => at),
      'Only the file of a table writes it, or starts a query at it. Move the function there; what must be one statement with the rest of it is listed in `writesAlso`, with the reason.',
    ).toEqual([]);
    const needless = Object.entries(writesAlso).flatMap(([file, tables]) =>
      tables.filter((table) => !named.some((one) => one.file === file && one.table === table)).map((table) => `${file} ${table}`),
    );
    expect(needless, 'It is not written there any more: take it off `writesAlso`.').toEqual([]);
  });

  test('an address of a user who exists is proven in one place', () => {
    const own = ['src/db/tables/users.ts', 'src/domain/users/address-proof.ts'];
    expect(
      places(sources, /\bsetEmailVerified\b/g, (path) => own.includes(path)),
      'The first proof of an address clears the account: call proveAddress of src/domain/users/address-proof.ts.',
    ).toEqual([]);
    // What is written of people stands in the file of the table alone (the test above): there one statement sets it.
    const table = sources.find(({ path }) => path === 'src/db/tables/users.ts')?.code ?? '';
    const settings = table.match(/\bemail_verified(?:: true|\s*=\s*(?!=))/g);
    expect(settings, 'Set it in setEmailVerified alone.').toEqual(['email_verified: true']);
    const proven = sources.filter(({ path, code }) => !own.includes(path) && /\bproven?Address\(/.test(code)).map(({ path }) => path);
    expect(proven.sort(), 'A new way to prove an address belongs into test/account/first-proof.test.ts, and here.').toEqual([
      'src/domain/credentials/address-change.ts',
      'src/domain/credentials/password-reset.ts',
      'src/domain/sign-ins/email-codes.ts',
      'src/domain/sign-ins/provider-account.ts',
      'src/domain/users/users.ts',
    ]);
  });

  test('configuration is read in one place', () =>
    expect(
      places(sources, /process\.env\b/g, (path) => path === 'src/config.ts' || path === 'src/lib/process-variables.ts'),
      'Only src/config.ts reads process.env. Add the variable there and take it from the config.',
    ).toEqual([]));

  test('time comes from the clock', () =>
    expect(
      places(sources, /\bDate\.now\(|\bnew Date\(\s*\)|\bDate\(\s*\)/g, (path) => path === 'src/platform/clock.ts'),
      'Take the time from ctx.clock, so that tests can set it.',
    ).toEqual([]));

  test('no module has a state of its own', () => {
    const changing = '(?:set|add|delete|clear|push|pop|shift|unshift|splice|fill|sort|reverse)';
    const found = sources.flatMap(({ path, code }) => {
      const variables = [...code.matchAll(/^(?:export )?(?:let|var) (\w+)/gm)].map(([, name]) => name);
      const made = [...code.matchAll(/^(?:export )?const (\w+)(?:: [^=\n]+)? = (create\w+)\(/gm)]
        .filter(([, , maker]) => !statelessMakers.includes(maker ?? ''))
        .map(([, name]) => name);
      const changed = [...code.matchAll(/^(export )?const (\w+)(?:: [^=\n]+)? = (?:new (?:Weak)?(?:Map|Set)\b|\[|\{|named\(|Buffer\.)/gm)]
        .filter(([, exported, name]) => {
          const change = new RegExp(`\\b${name}(?:\\.\\w+)*(?:\\.${changing}\\(|(?:\\.\\w+|\\[[^\\]\\n]+\\]) (?:\\?\\?|[-+|&])?= )`);
          const module = `/${path.split('/').at(-1)?.replace(/ts$/, 'js')}'`;
          const importing = new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from '[^']*${module}`);
          const importers = exported === undefined ? [] : sources.filter((one) => one.code.includes(module) && importing.test(one.code));
          return [{ code }, ...importers].some((one) => change.test(one.code));
        })
        .map(([, , name]) => name);
      return [...variables, ...made, ...changed].map((name) => `${path} ${name}`);
    });
    const stateful = (place: string) => Object.hasOwn(statefulModules, place.split(' ')[0] ?? '');
    expect(
      found.filter((place) => !stateful(place)),
      'Two services in one process would share it. Put it into Deps or the object that needs it; a pure function remembers with memo or once of src/lib/memo.ts.',
    ).toEqual([]);
    expect([...new Set(found.map((place) => place.split(' ')[0]))], 'It has none any more: take it off `statefulModules`.').toEqual(
      Object.keys(statefulModules),
    );
  });

  test('refusals are made where they happen', () =>
    expect(
      places(sources, /^(?:export )?const \w+[^=\n]*= (?:new )?\w*(?:Error|Refusal)[.(]|^ {2}'?\w+'?: (?:new )?\w*(?:Error|Refusal)[.(]/gm),
      'An Error made while the module loads has the stack of the first import. Make it in a function, at the throw.',
    ).toEqual([]));

  test('what an exported function throws, its docstring says', () => {
    const quiet = sources
      .filter(({ path }) => /^src\/(?:lib|platform|db|domain|http)\//.test(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/(\/\*\*(?:(?!\*\/)[^])*\*\/\n)?export (?:async )?function (\w+)[^]*?\n\}\n/g)]
          // What is caught and thrown on belongs to whatever threw it.
          .filter(([body, docstring = '']) => /\bthrow (?:new |\w+[.(])/.test(withoutComments(body)) && !docstring.includes('@throws'))
          .map(([, , name]) => `${path}: ${name}`),
      );
    expect(quiet, 'Say which error, and when: `@throws {Refusal} 409 when ...`.').toEqual([]);
  });

  test('exports have names', () =>
    expect(
      places(sources, /\bexport default\b/g),
      'Export by name: a default export is called something else in every importing file.',
    ).toEqual([]));

  test('no name is looked up on a plain object', () => {
    const bare = sources.map((file) => ({ ...file, code: withoutTexts(file.code) }));
    const exempt = (path: string) => path === 'src/lib/named.ts';
    const say = 'Requests may name `constructor` or `__proto__`, which every plain object inherits.';
    expect(
      places(bare, /Record<string,[^;={}()]*>\s*=\s*\{/g, exempt),
      `${say} Make the table with named({...}) of src/lib/named.ts.`,
    ).toEqual([]);
    expect(
      places(bare, /\bas (?:Readonly<)?(?:Partial<)?Record<string,[^;()]*>\)(?:\?\.|!)?\[(?!\s*(?:\]|'))/g, exempt),
      `${say} Take the member with own(object, name) of src/lib/named.ts.`,
    ).toEqual([]);
    expect(
      places(bare, /(?<=[\w)\]])(?:\?\.|!)?\[[\w.]+ as (?:keyof\b|[A-Z])/g, exempt),
      `${say} A cast proves nothing about a name: use own(object, name) of src/lib/named.ts.`,
    ).toEqual([]);
    expect(
      places(bare, /(?<=[\w)\]] )in (?=[\w(])/g, (path) => exempt(path)).filter((place) => !allowsIn(bare, place)),
      `${say} Ask Object.hasOwn(object, name); \`in\` is for names that the code itself writes down.`,
    ).toEqual([]);
  });

  test('files stay small', () => {
    const long = sources
      .map(({ path, text }) => `${path}: ${text.trimEnd().split('\n').length} lines`)
      .filter((line) => Number(/: (\d+)/.exec(line)?.[1]) > 260);
    expect(long, 'Split the file by noun: which of its things could have a file of its own?').toEqual([]);
  });

  test('files are named for what they hold', () => {
    const vague = sources
      .map(({ path }) => path)
      // The service is what this project is.
      .filter(
        (path) => /(?:^|[/-])(?:utils?|helpers?|common|managers?|services?)(?:\.ts|\/)/.test(path) && path !== 'src/process/service.ts',
      );
    expect(vague, 'What has no noun has no home yet. Name the file for its content.').toEqual([]);
  });

  test('files are kebab-case, or bear the wire name of a registry entry', () => {
    const odd = sources.map(({ path }) => path).filter((path) => !/^[a-z0-9]+(?:[-_][a-z0-9]+)*\.ts$/.test(path.split('/').at(-1) ?? ''));
    expect(odd, 'File names are kebab-case; registry entries and tables bear their wire names.').toEqual([]);
  });
});

describe('views', () => {
  test('lines are at most 160 columns wide', () => {
    const wide = views.flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => (line.length > 160 ? [`${path}:${index + 1}`] : [])),
    );
    expect(wide, 'Break the line inside a tag, where no white space shows: after <% or between attributes.').toEqual([]);
  });

  test('data are escaped: <%- is for includes only', () =>
    expect(places(views, /<%-(?!\s*include\()/g), 'Use <%= for data. <%- writes HTML as it is and is for include(...) alone.').toEqual([]));

  test('no inline script, style or handler (Content-Security-Policy)', () => {
    const inline = /<script(?![^>]*\bsrc=)|<style\b|\sstyle="|\son(?:click|submit|load|change|error|input)=/g;
    expect(
      places(views, inline, (path) => path.startsWith('views/mail/')),
      'Put scripts and styles into files under public/ (mail, which has no policy and no files, is exempt).',
    ).toEqual([]);
  });
});

describe('migrations', () => {
  test('are the baseline and files that are named NNNN_noun.sql', () =>
    expect(
      migrations.filter((name) => name !== '0001_baseline' && !/^\d{4}_[a-z0-9]+(?:_[a-z0-9]+)*\.sql$/.test(name)),
      'Name it like 0012_audit_logs.sql.',
    ).toEqual([]));

  test('are numbered in order, without twin', () =>
    expect(
      migrations.map((name) => Number(name.slice(0, 4))),
      'Take a number of its own.',
    ).toEqual([...new Set(migrations.map((name) => Number(name.slice(0, 4))))].sort((one, other) => one - other)));
});

test('a constant, function or class is exported only where another file names it', async () => {
  const elsewhere = (await Promise.all(['test', 'bench'].map((directory) => read(directory, /\.(?:ts|mjs)$/)))).flat();
  const files = [...sources, ...elsewhere].map(({ path, text }) => ({ path, words: new Set(text.match(/[\w$]+/g)) }));
  const exported = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/^export (?:async )?(?:abstract )?(?:const|let|function\*?|class) ([\w$]+)/gm)].map(([, name = '']) => ({
      path,
      name,
    })),
  );
  expect(exported.length).toBeGreaterThan(2000);
  const unused = exported.filter(({ path, name }) => !files.some((file) => file.path !== path && file.words.has(name)));
  expect(unused, 'Take `export` away, or what nobody uses with it.').toEqual([]);
});

test('.ci/run installs every program that a test needs', async () => {
  // Debian's packages, and npm's.
  const lists = (await readFile('.ci/run', 'utf8')).matchAll(/^for program in (.*); do$/gm);
  const listed = [...lists].flatMap(([, names = '']) => names.split(' ')).sort();
  expect(listed, 'Add it to the list in .ci/run, with its Debian package if that has another name.').toEqual([...programs]);
});

/** `test.skip` and its like, their options, and a test that skips itself. */
const passedOver = new RegExp(
  [
    /\b(?:test|it|describe|suite)(?:\.\w+)*\.(?:skip|skipIf|runIf|todo|only)\b/,
    /\b(?:xit|xtest|xdescribe|fit|fdescribe)\s*\(/,
    /\b(?:skip:|(?:todo|only): true)/,
    /\b(?:ctx|context|task)\.skip\(/,
    /\(\{[^}]*\bskip\b[^}]*\}\)\s*=>/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

test('no test is skipped but for want of a program', async () => {
  const files = (await read('test', /\.ts$/)).map((file) => ({ ...file, code: withoutTexts(file.code) }));
  const found = places(files, passedOver, (path) => path === 'test/support/programs.ts');
  expect(found, "Make the test hold everywhere; if it runs another program, let it say so: const test = needs('...').").toEqual([]);
  const silent = files.filter(({ path, code }) => path.endsWith('.test.ts') && /\brunBeside\(/.test(code) && !/\bneeds\(/.test(code));
  expect(
    silent.map(({ path }) => path),
    "It runs another program and fails where that isn't installed: let the test say needs('...').",
  ).toEqual([]);
});
