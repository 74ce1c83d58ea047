// The set-up of examples/high-availability, whole, on this machine: `npm run test:ha -- [--late] [kill pause cut]`. As root, with patroni, etcd, haproxy and
// PostgreSQL 15 (Debian packages). Everything runs in namespaces of the kernel that end with this process; KEEP=1 leaves the logs.
import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver } from '../support/receiver.js';
import { check, checkPlanted } from './checks.js';
import { prepare } from './client.js';
import { startCluster, type Cluster } from './cluster.js';
import { faults, suffer, type Figures } from './faults.js';
import { startLoad } from './load.js';
import { layNetwork } from './machine.js';
import { startBalancer, startReplicas, type Replica } from './replicas.js';

/** This process on the network of the machines. */
const address = '10.0.0.1';
/** Full service at the latest so long after the new leader. */
const serviceWithinMs = 15_000;
const beforeFaultMs = 8000;
const inside = 'inside';
/** Who confirms commits is 20 ms away (fault F90). */
const late = '--late';
const lateMs = 20;

/** The machine is too busy, or lacks what the test needs: nothing was found out (sysexits EX_TEMPFAIL). */
const inVain = 75;
let up = false;

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** `late`: what a busy machine may explain; anything else that doesn't hold is worth more. */
function must(holds: boolean, what: string, late = false): void {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`);
  if (!holds) process.exitCode = late ? (process.exitCode ?? inVain) : 1;
}

function tell(title: string, figures: Figures): void {
  const { leaderMs, serviceMs, backMs, rewound, requests, refused, unanswered, broken } = figures;
  console.log(`--- ${title}`);
  console.log(
    `new leader after ${seconds(leaderMs)}; ${requests} requests until full service, ${refused} refused (503), ${unanswered} unanswered`,
  );
  must(serviceMs <= serviceWithinMs, `full service ${seconds(serviceMs)} after the new leader, without a restart`, true);
  must(broken === 0, `${broken} answers of 500 and above that aren't 503`);
  must(
    backMs !== null,
    `the former leader follows${backMs === null ? '' : ` ${seconds(backMs)} after its return`}${rewound ? ', rewound' : ''}`,
    true,
  );
}

/** How long the latest commits waited for the member that confirms them, in milliseconds. */
async function confirmedAfter(cluster: Cluster): Promise<number> {
  const lag = `select extract(epoch from flush_lag) * 1000 from pg_stat_replication where sync_state = 'sync'`;
  return Number(await (await cluster.leader())?.run(['psql', '-h', '/run/postgresql', '-Atc', lag], { user: 'postgres' }));
}

async function play(directory: string, asked: readonly string[]): Promise<void> {
  const names = asked.filter((name) => name !== late);
  const isLate = asked.includes(late);
  const started = performance.now();
  await layNetwork(address);
  const cluster = await startCluster(directory, isLate ? lateMs : 0);
  const replicas = await startReplicas(cluster, directory);
  const balancer = await startBalancer(directory);
  const receiver = await startReceiver(200, address);
  const credentials = await prepare(replicas[0] as Replica, receiver.url);
  up = true;
  console.log(`three members, two replicas and a balancer are up after ${seconds(performance.now() - started)}`);
  const load = startLoad(replicas, balancer, credentials);
  const scene = { history: load.history, replicas, credentials, receiver };
  for (const name of names) {
    const fault = faults[name];
    if (!fault) throw new Error(`no fault is called ${name}: ${Object.keys(faults).join(', ')}`);
    const since = performance.now();
    await delay(beforeFaultMs);
    if (isLate) {
      const ms = await confirmedAfter(cluster);
      must(ms >= lateMs, `commits are confirmed after ${ms.toFixed(0)} ms`);
    }
    let findings = { looked: {}, wrong: [] } as Awaited<ReturnType<typeof check>>;
    const figures = await suffer(fault, cluster, replicas, load.history, async () => void (findings = await check(scene, since)));
    tell(fault.title, figures);
    const { codes, spent, tokens, users, deliveries, repeated } = findings.looked;
    const looked = `${codes} codes, ${tokens} tokens, ${users} users, ${deliveries} deliveries (${repeated} of them twice), ${spent} spent codes`;
    must(findings.wrong.length === 0, `nothing is lost and nothing was used twice: ${looked}`);
    for (const words of new Set(findings.wrong)) console.log(`     ${words}`);
  }
  await load.stop();
  const { planted, found } = await checkPlanted(scene);
  must(found === planted, `the checks find what is planted: ${found} of ${planted}`);
  console.log(`over after ${seconds(performance.now() - started)}`);
}

/** Starts this file again where it may make networks and mounts of its own; whatever it starts there ends with it. */
async function playInNamespaces(names: readonly string[]): Promise<number> {
  if (process.getuid?.() !== 0)
    throw new Error('only root may make the machines that this test needs: sudo env "PATH=$PATH" npm run test:ha');
  const scratch = await mkdtemp(join(tmpdir(), 'identity-provider-ha-'));
  await chmod(scratch, 0o755);
  // The shell is the first process there, which buries those that PostgreSQL leaves behind.
  const again = ['sh', '-c', '"$@"; exit $?', 'sh', process.execPath, '--import', 'tsx', 'test/ha/run.ts', inside, scratch, ...names];
  const child = spawn(
    'unshare',
    ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private', ...again],
    { stdio: 'inherit' },
  );
  const ended = new Promise<number>((resolve, reject) => child.once('error', reject).once('exit', (code) => resolve(code ?? 1)));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill('SIGKILL'));
  try {
    return await ended;
  } finally {
    if (process.env['KEEP']) console.log(`logs: ${scratch}`);
    else await rm(scratch, { recursive: true, force: true });
  }
}

const [first, scratch = '', ...rest] = process.argv.slice(2);
if (first === inside) {
  await play(scratch, rest).catch((error: unknown) => must(false, error instanceof Error ? (error.stack ?? error.message) : String(error)));
  process.exit(up ? process.exitCode : inVain);
}
const asked = process.argv.slice(2);
process.exitCode = await playInNamespaces(asked.some((name) => name !== late) ? asked : [...asked, ...Object.keys(faults)]);
