import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Agent, request } from 'undici';
import { eventually } from '../support/webhooks.js';
import { command, startMachine, type Machine } from './machine.js';

const example = resolve('examples/high-availability');
const addresses = { db1: '10.0.0.21', db2: '10.0.0.22', db3: '10.0.0.23' };

/** A busy machine takes minutes for what a quiet one does in a quarter of one. */
export const upWithinMs = 180_000;

/** A member as Patroni's `GET /cluster` tells of it. */
type Member = { readonly name: string; readonly role: string; readonly state: string; readonly timeline?: number };

/** The database of examples/high-availability, on three machines. */
export type Cluster = {
  readonly members: readonly Machine[];
  /** The authority's certificate, a file. */
  readonly authority: string;
  /** Of the service's role. */
  readonly password: string;
  /** The member that says that it leads, if one does; `other` isn't asked. */
  leader(other?: Machine): Promise<Machine | null>;
  /** Starts Patroni on a member, as its service manager does when the machine starts. */
  startPatroni(member: Machine): Promise<void>;
  /** Resolves once one member leads, one confirms its commits and one follows, all of them on one timeline. */
  whole(withinMs: number): Promise<void>;
};

/** A file of the example with its placeholders filled in. @throws when one is left, or was not there */
export async function fill(file: string, values: Readonly<Record<string, string>>): Promise<string> {
  let text = await readFile(join(example, file), 'utf8');
  for (const [name, value] of Object.entries(values)) {
    if (!text.includes(`@${name}@`)) throw new Error(`${file} has no @${name}@`);
    text = text.replaceAll(`@${name}@`, value);
  }
  const left = /@[A-Z_]+@/.exec(text);
  if (left) throw new Error(`${file}: ${left[0]} is not filled in`);
  return text;
}

/** The variables of an environment file, as a service manager reads them. */
export const variablesOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]));

const secret = () => randomBytes(24).toString('hex');

const connectAddress = /^(PATRONI_POSTGRESQL_CONNECT_ADDRESS=.*):5432$/m;
const latePort = 6432;
/** A way to the PostgreSQL of a machine on which what comes takes its time: the confirmations of those who follow it. */
const lateWay = (address: string, ms: number) => `
  const { connect, createServer } = require('node:net');
  createServer((inbound) => {
    const outbound = connect({ port: 5432, host: '${address}', localAddress: '${address}' });
    for (const socket of [inbound, outbound]) socket.on('error', () => {}).on('close', () => (inbound.destroy(), outbound.destroy()));
    inbound.on('data', (chunk) => setTimeout(() => outbound.write(chunk), ${ms}));
    outbound.pipe(inbound);
  }).listen(${latePort}, '${address}');`;

/** Does on each database machine what the example's README says. */
async function installMembers(members: readonly Machine[], certificates: string, lateMs: number): Promise<void> {
  await command([join(example, 'certificates.sh'), certificates, ...members.map(({ name, address }) => `${name}=${address}`)]);
  const secrets = { SUPERUSER_PASSWORD: secret(), REPLICATION_PASSWORD: secret(), REWIND_PASSWORD: secret() };
  const variables = async (values: Record<string, string>) => {
    const text = await fill('patroni.env', values);
    if (!connectAddress.test(text)) throw new Error('patroni.env has no address for followers');
    return lateMs > 0 ? text.replace(connectAddress, `$1:${latePort}`) : text;
  };
  for (const machine of members) {
    const own = { NAME: machine.name, ADDRESS: machine.address };
    await machine.configure('etc/default/etcd', await fill('etcd.env', own));
    await machine.configure('etc/patroni/config.yml', await fill('patroni.yml', {}));
    await machine.configure('etc/patroni_env.conf', await variables({ ...own, ...secrets }), 0o600);
    if (lateMs > 0) machine.start('late', [process.execPath, '-e', lateWay(machine.address, lateMs)]);
    await machine.run(['usermod', '-aG', 'ssl-cert', 'etcd']);
    await machine.run(['install', '-d', '-m', '755', '/etc/ssl/identity']);
    const install = async (mode: string, from: string, to: string) =>
      machine.run(['install', '-m', mode, '-g', 'ssl-cert', join(certificates, from), `/etc/ssl/identity/${to}`]);
    await install('644', 'ca.crt', 'ca.crt');
    await install('644', `${machine.name}.crt`, 'member.crt');
    await install('640', `${machine.name}.key`, 'member.key');
  }
}

/** How Debian's patroni.service starts it. */
async function startPatroni(machine: Machine): Promise<void> {
  const environment = { LANG: 'C.UTF-8', ...variablesOf(await machine.configuration('etc/patroni_env.conf')) };
  machine.start('patroni', ['/usr/bin/patroni', '/etc/patroni/config.yml'], { user: 'postgres', environment });
}

/**
 * Starts the machines and what runs on them; resolves when the database is there for the service.
 * @param lateMs so much later is what followers send
 */
export async function startCluster(directory: string, lateMs = 0): Promise<Cluster> {
  const members: Machine[] = [];
  for (const [name, address] of Object.entries(addresses)) members.push(await startMachine(name, address, join(directory, name)));
  const certificates = join(directory, 'certificates');
  await mkdir(certificates);
  await installMembers(members, certificates, lateMs);
  for (const member of members) {
    const environment = variablesOf(await member.configuration('etc/default/etcd'));
    member.start('etcd', ['/usr/bin/etcd'], { user: 'etcd', environment });
  }
  for (const member of members) await startPatroni(member);

  const authority = join(certificates, 'ca.crt');
  const dispatcher = new Agent({
    connect: { ca: await readFile(authority, 'utf8'), timeout: 1000 },
    headersTimeout: 1000,
    bodyTimeout: 1000,
  });
  const ask = async ({ address }: Machine, path: string) => {
    const answer = await request(`https://${address}:8008${path}`, { dispatcher });
    return { status: answer.statusCode, text: await answer.body.text() };
  };
  const leads = (member: Machine) => ask(member, '/primary').then(({ status }) => status === 200, () => false); // prettier-ignore
  const leader = async (other?: Machine) => {
    const asked = members.filter((member) => member !== other);
    const answers = await Promise.all(asked.map(leads));
    return asked.find((_, index) => answers[index]) ?? null;
  };
  const isWhole = async () => {
    const leading = await leader();
    if (leading === null) return false;
    const all = (JSON.parse((await ask(leading, '/cluster')).text) as { members: Member[] }).members;
    const roles = all.map(({ role }) => role).sort();
    return (
      roles.join() === 'leader,replica,sync_standby' &&
      all.every(({ state }) => ['running', 'streaming'].includes(state)) &&
      new Set(all.map(({ timeline }) => timeline)).size === 1
    );
  };
  const whole = async (withinMs: number) => void (await eventually(() => isWhole().catch(() => false), withinMs, 250));
  await whole(upWithinMs);

  const password = secret();
  const leading = (await leader()) as Machine;
  for (const statement of [`create role identity login password '${password}'`, 'create database identity owner identity'])
    await leading.run(['psql', '-h', '/run/postgresql', '-c', statement], { user: 'postgres' });
  return { members, authority, password, leader, startPatroni, whole };
}
