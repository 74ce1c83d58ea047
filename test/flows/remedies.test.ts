// Every command that the doctor and a refused start can print, run as it stands with hostile names, in a root file system to throw away: it does what it says, and nothing
// but what is ours is another one afterwards. One that is added without a trial fails to compile, and the first test.
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ownSurroundings } from '../../src/domain/diagnostics/own-installation.js';
import { fixes, probes, type CommandLine } from '../../src/lib/remedies.js';
import { needsRoot } from '../support/programs.js';
import { canChangeRoot, ours, ThrowAwayRoot } from '../support/throw-away-root.js';

let root: ThrowAwayRoot;
beforeAll(() => {
  if (canChangeRoot) root = new ThrowAwayRoot();
});
afterEach(() => {
  for (const name of canChangeRoot ? readdirSync(at('/srv')) : []) rmSync(at(join('/srv', name)), { recursive: true });
});
afterAll(() => root?.remove());

/** A name that the shell must not read, and what it would leave behind if it did. */
const hostile = 'it\'s $(touch /srv/1) `touch /srv/2`; touch /srv/3 & "\\';
const { command: run } = ownSurroundings();
const cli: CommandLine = (args) => run('cli', `--url http://localhost:3000 ${args}`);
const cliAsked = 'asked: npm [run] [-s] [cli] [--] [--url] [http://localhost:3000]';

type Trial = {
  readonly command: string;
  /** What has to be there before. */
  readonly made?: () => void;
  /** Paths that are another one afterwards. */
  readonly touched?: readonly string[];
  /** All that it prints; programs that ask others or change a machine tell what they were asked. */
  readonly output?: string;
  readonly code?: number;
};

const directory = `/srv/${hostile.replaceAll('/', '')}`;
const at = (path: string) => join(root.path, path);
function make(path: string, kind: 'directory' | 'file', { uid, gid }: { uid: number; gid: number }, mode: number): void {
  if (kind === 'directory') mkdirSync(at(path), { recursive: true });
  else writeFileSync(at(path), 'x');
  chownSync(at(path), uid, gid);
  chmodSync(at(path), mode);
}

/** Sets a variable, and shows with what. */
const shown = (command: string, name: string) => `${command}; sh -c 'printf "%s" "$${name}"'`;

const fixTrials: Record<keyof typeof fixes, Trial> = {
  start: { command: fixes.start(), output: 'asked: npm [start]\n' },
  // The one that changes more than what is ours, in the home of whoever runs it; it is nvm's own, and Node.js can't be asked to mend itself.
  installNode: { command: fixes.installNode(), output: 'asked: nvm [install] [24]\n' },
  setClock: { command: fixes.setClock(), output: 'asked: timedatectl [set-ntp] [true]\n' },
  // A name alone is for an editor: as a command it is none.
  variable: { command: `${fixes.variable('SECRET_KEY_PREVIOUS')} 2>/dev/null`, code: 127 },
  setVariable: { command: shown(fixes.setVariable('EMAIL_FROM', hostile), 'EMAIL_FROM'), output: hostile },
  unsetVariables: { command: shown(`ADMIN_EMAIL=x; ${fixes.unsetVariables('ADMIN_EMAIL', 'ADMIN_PASSWORD')}`, 'ADMIN_EMAIL'), output: '' },
  renameVariable: { command: shown(`SMTP_URI='${hostile.replaceAll("'", '')}'; ${fixes.renameVariable('SMTP_URI', 'SMTP_URL')}`, 'SMTP_URL'), output: hostile.replaceAll("'", '') }, // prettier-ignore
  setVariableFromFile: {
    command: shown(fixes.setVariableFromFile('SECRET_KEY', directory), 'SECRET_KEY'),
    made: () => make(directory, 'file', ours, 0o600),
    output: 'x',
  },
  makeDirectory: { command: fixes.makeDirectory(directory), touched: [directory] },
  makeDataDirectory: { command: shown(fixes.makeDataDirectory(directory), 'DATA_DIR'), touched: [directory], output: directory },
  openDirectory: { command: fixes.openDirectory(directory), made: () => make(directory, 'directory', ours, 0o500), touched: [directory] },
  openFile: { command: fixes.openFile(directory), made: () => make(directory, 'file', ours, 0o200), touched: [directory] },
  takeFile: { command: fixes.takeFile(directory), made: () => make(directory, 'file', { uid: 0, gid: 0 }, 0o600), touched: [directory] },
  createDatabase: {
    command: fixes.createDatabase('db.example.com', '5432', hostile, `-${hostile}`),
    output: `asked: createdb [-h] [db.example.com] [-p] [5432] [-U] [${hostile}] [--] [-${hostile}]\n`,
  },
  waitForDisk: {
    command: `DATABASE_URL=postgres://db.example.com/idp; ${fixes.waitForDisk()}`,
    output: 'asked: psql [postgres://db.example.com/idp] [-c] [alter system set fsync = on] [-c] [select pg_reload_conf()]\n',
  },
  migrate: { command: fixes.migrate(run), output: 'asked: npm [run] [-s] [migrate]\n' },
  rekey: { command: fixes.rekey(run), output: 'asked: npm [run] [-s] [rekey]\n' },
  endProcess: { command: fixes.endProcess(hostile, 4711), code: 1 },
  renewCertificate: { command: fixes.renewCertificate(hostile), output: `asked: certbot [renew] [--cert-name] [${hostile}]\n` },
  requestCertificate: { command: fixes.requestCertificate(hostile), output: `asked: certbot [certonly] [-d] [${hostile}]\n` },
  createAdministrator: {
    command: fixes.createAdministrator(cli),
    output: `${cliAsked} [create-administrator] [second.administrator@example.com]\n`,
  },
  updateRecord: {
    command: fixes.updateRecord(cli, 'clients', `--url=${hostile}`, 'redirect-uris', hostile, 'https://app.example.com/cb?a=1'),
    output: `${cliAsked} [clients] [update] [--redirect-uris] [${hostile}] [--redirect-uris] [https://app.example.com/cb?a=1] [--] [--url=${hostile}]\n`,
  },
  createSigningKey: {
    command: fixes.createSigningKey(cli, 'RS256'),
    output: `${cliAsked} [signing_keys] [create] [--algorithm] [RS256]\n`,
  },
  activateSigningKey: { command: fixes.activateSigningKey(cli, hostile), output: `${cliAsked} [signing_keys] [activate] [${hostile}]\n` },
};

const lookTrials: Record<keyof typeof probes, Trial> = {
  checks: { command: probes.checks(run, 'mail', 'tls'), output: 'asked: npm [run] [-s] [doctor] [--] [--check] [mail] [tls]\n' },
  deliveries: {
    command: probes.deliveries(cli, hostile),
    output: `${cliAsked} [list-deliveries] [--webhook] [${hostile}] [--status] [failed]\n`,
  },
  directory: { command: probes.directory(directory), made: () => make(directory, 'directory', ours, 0o700) },
  hangingDirectory: { command: probes.hangingDirectory(directory), made: () => make(directory, 'directory', ours, 0o700) },
  file: { command: probes.file(directory), made: () => make(directory, 'file', ours, 0o600) },
  diskUse: { command: probes.diskUse(directory), made: () => make(`${directory}/postgres`, 'directory', ours, 0o700) },
  database: { command: probes.database(hostile, '5432'), output: `asked: pg_isready [-h] [${hostile}] [-p] [5432]\n` },
  address: { command: probes.address(hostile), output: `asked: curl [-sSv] [${hostile}]\n` },
  certificate: {
    command: probes.certificate(hostile, 443),
    output: `asked: openssl [s_client] [-connect] [${hostile}:443] [-servername] [${hostile}] [-showcerts]\n`,
  },
  mailCertificate: {
    command: probes.mailCertificate('smtp:', `${hostile}:587`),
    output: `asked: openssl [s_client] [-starttls] [smtp] [-connect] [${hostile}:587]\n`,
  },
};

/** What only looks, whoever is asked; of our own programs the ones that read. */
const reading =
  /^asked: (curl|openssl \[s_client\]|pg_isready|npm \[run\] \[-s\] (doctor|\[doctor\]|\[cli\] \[--\] \[--url\] \S+ \[list-\w+\]))/;

test('each fix and each look has a trial', () => {
  expect(Object.keys(fixTrials).sort()).toEqual(Object.keys(fixes).sort());
  expect(Object.keys(lookTrials).sort()).toEqual(Object.keys(probes).sort());
});

test('nothing else makes one', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  const casting = sources.filter((path) => /\bas (Fix|Probe)\b/.test(readFileSync(join('src', path), 'utf8')));
  expect(casting).toEqual(['lib/remedies.ts']);
  expect(sources.length).toBeGreaterThan(500);
});

const asRoot = needsRoot(canChangeRoot);
const attempt = ({ made, command }: Trial) => {
  made?.();
  return root.run(command);
};

describe('run as it stands', () => {
  asRoot.each(Object.entries(fixTrials))('%s touches what it says and nothing else (attack 34.1110)', (_name, trial) => {
    const { code, output, touched } = attempt(trial);
    expect([code, output, touched]).toEqual([trial.code ?? 0, trial.output ?? '', trial.touched ?? []]);
  });

  asRoot.each(Object.entries(lookTrials))('the look %s changes nothing (attack 34.1110)', (_name, trial) => {
    const { code, output, touched } = attempt(trial);
    expect([code, touched]).toEqual([0, []]);
    if (trial.output === undefined) expect(output).toContain(directory);
    else expect([output, output]).toEqual([trial.output, expect.stringMatching(reading)]);
  });

  asRoot('what is made and taken is ours, and closed to others', () => {
    root.run(fixes.makeDirectory(directory));
    make(`${directory}/secret.key`, 'file', { uid: 0, gid: 0 }, 0o600);
    root.run(fixes.takeFile(`${directory}/secret.key`));
    const made = [directory, `${directory}/secret.key`].map((path) => root.state().get(path)?.split(' ').slice(0, 2));
    const owner = `${ours.uid}:${ours.gid}`;
    expect(made).toEqual([['40700', owner], ['100600', owner]]); // prettier-ignore
  });

  asRoot('a process of ours is ended on its own machine, another’s program of that number is not', () => {
    const ps = (args: string) => writeFileSync(at('/bin/ps'), `#!/bin/sh\necho '${args}'\n`);
    // The number is that of the shell itself, which says so by how it ends.
    const here = fixes.endProcess(root.run('uname -n').output.trim(), 4711).replaceAll('4711', () => '$$');
    ps('node dist/main.js');
    expect(root.run(here).signal).toBe('SIGTERM');
    ps('vim notes.txt');
    expect(root.run(here)).toMatchObject({ code: 1, signal: null });
  });
});
