// `npm run bench -- cc_jwt --quick`, of all scenarios without a name; `npm run bench -- options` names scenarios and options.
// The service beside a bare handler and beside oidc-provider, on one PostgreSQL. docs/explanation/scaling.md says how to read it.
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { jobQueues, readArguments, usage } from './arguments.js';
import { openServer, type BenchServer } from './database.js';
import { administrator, measureGrowth } from './grown.js';
import { measureLists } from './lists.js';
import { commitsText, measureCommits } from './commits.js';
import { lockedText, measureLocked } from './locked.js';
import { manyText, measureMany } from './many.js';
import { measureLogins, measureSignIns, signInsText } from './logins.js';
import { measureScenario, type ScenarioResult } from './measure.js';
import { measureOverload, overloadText } from './overload.js';
import { reportText } from './report.js';
import { measureReplicas, replicasText } from './replicas.js';
import { soak, soakText } from './soak.js';
import { manager } from './soak-mix.js';
import { measureTail, tailText } from './tail.js';
import { measureScale, scaleText } from './scale.js';
import { measureStarts, startsText } from './start.js';
import { measureWorkers, workersText } from './workers.js';
import { measurePages } from './pages.js';
import { cheapenPasswords, keepCheapHashes } from './targets/cheap-hash.js';
import { startCeiling } from './targets/ceiling.js';
import { startKeycloak } from './targets/keycloak.js';
import { startOidcProvider } from './targets/oidc-provider.js';
import { turnAgentsOn } from './targets/agents.js';
import { startProduct } from './targets/product.js';
import { pin, type Target } from './targets/target.js';
import { measureWebhooks } from './webhook/measure.js';
import { webhookText } from './webhook/report.js';

const results = fileURLToPath(new URL('./results/', import.meta.url));

/** What one processor signs per second, one after the other: the machine's measure, to compare machines by. */
function signaturesPerSecond(): number {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const data = Buffer.alloc(300);
  let count = 0;
  const started = performance.now();
  for (; performance.now() - started < 500; count++) sign('sha256', data, privateKey);
  return Math.round((count * 1000) / (performance.now() - started));
}

const git = (...args: string[]) => spawnSync('git', args, { encoding: 'utf8' }).stdout.trim();

function machine(postgres: string) {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    processors: cpus().length,
    kernel: release(),
    node: process.version,
    postgres,
    commit: git('rev-parse', '--short', 'HEAD'),
    rsa_2048_signatures_per_second: signaturesPerSecond(),
  };
}

function writeResults(file: string, found: object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(found, null, 2)}\n`);
  console.log(`written to ${file}`);
}

/** Undoes what was started, last first, whatever happened in between. */
const endings: (() => Promise<void>)[] = [];
async function endAll(): Promise<void> {
  for (let end = endings.pop(); end; end = endings.pop()) await end().catch((error: unknown) => console.error(error));
}

const profileArguments = (folder: string | null): string[] => (folder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`]);

/** What is measured instead of the scenarios, if anything. Nothing is pinned here but what it pins itself. */
async function runInstead(asked: ReturnType<typeof readArguments>, server: BenchServer, log: number): Promise<boolean> {
  if (asked.workers) {
    const workers = await measureWorkers(server, asked.plan, log, (end) => void endings.push(end));
    console.log(workersText(workers));
    writeResults(asked.json ?? join(results, 'workers.json'), { machine: machine(server.version), plan: asked.plan, workers });
    return true;
  }
  const profiled = profileArguments(asked.profile);
  const alone = async (name: string, pinned = cpus().length > 1, env: Record<string, string> = {}, nodeArguments: string[] = []) => {
    if (pinned) for (const pid of [process.pid, server.pid].filter((one) => one > 0)) pin(pid, `1-${cpus().length - 1}`);
    const databaseUrl = await server.create(`bench_${name}`);
    const product = await startProduct({
      databaseUrl,
      processors: pinned ? '0' : '',
      log,
      env,
      nodeArguments: [...profiled, ...nodeArguments],
    });
    endings.push(() => product.stop());
    return { product, databaseUrl };
  };
  const tell = (name: string, text: string, found: object) => {
    console.log(text);
    writeResults(asked.json ?? join(results, `${name}.json`), { machine: machine(server.version), plan: asked.plan, ...found });
    return true;
  };
  if (asked.grown !== null || asked.lists !== null || asked.pages !== null) {
    const env = {
      RATE_LIMIT_API: '100000000/60',
      MANAGEMENT_CLIENT_ID: manager.id,
      MANAGEMENT_CLIENT_SECRET: manager.secret,
      ADMIN_EMAIL: administrator.email,
      ADMIN_PASSWORD: administrator.password,
    };
    if (asked.lists !== null) {
      console.log(await measureLists(await alone('lists', false, env), asked.lists, server.pid));
      return true;
    }
    if (asked.pages !== null) {
      console.log(await measurePages(await alone('pages', false, env), asked.pages, server.pid));
      return true;
    }
    const few = await alone('grown_few', false, env);
    const many = await alone('grown', false, env);
    console.log(await measureGrowth(few, many, asked.grown ?? 0, asked.plan, server.pid));
    return true;
  }
  if (asked.replicas !== null) {
    const { product } = await alone('replicas');
    const others: Target[] = [];
    while (others.length < asked.replicas - 1) others.push(await product.replica());
    const replicas = await measureReplicas([product, ...others], asked.plan, server.pid);
    return tell('replicas', replicasText(replicas), { replicas });
  }
  if (asked.overload) {
    const overload = await measureOverload((await alone('overload')).product, asked.plan);
    return tell('overload', overloadText(overload), { overload });
  }
  if (asked.locked) {
    const { product, databaseUrl } = await alone('locked');
    const locked = await measureLocked(product, databaseUrl, asked.plan);
    return tell('locked', lockedText(locked), { locked });
  }
  if (asked.signIns !== null) {
    const { product } = await alone('sign_ins', false, { RATE_LIMIT_LOGIN: '100000000/60' });
    const signIns = await measureSignIns(product, asked.signIns, asked.plan.rounds);
    return tell('sign-ins', signInsText(signIns), { sign_ins: signIns });
  }
  if (asked.many) {
    const many = await measureMany(async (name) => (await alone(name)).product, asked.plan, server.pid);
    return tell('many', manyText(many), { many });
  }
  if (asked.tail) {
    const probeFile = join(results, 'tail-probe.json');
    const probe = new URL('./targets/tail-probe.js', import.meta.url).href;
    const env = { RATE_LIMIT_LOGIN: '100000000/60', BENCH_PROBE_FILE: probeFile };
    const { product, databaseUrl } = await alone('tail', cpus().length > 1, env, ['--import', probe]);
    const tail = await measureTail(product, databaseUrl, probeFile, asked.plan, asked.rate);
    return tell('tail', tailText(tail), { tail });
  }
  if (asked.commits) {
    const commits = await measureCommits(asked.plan.rounds);
    return tell('commits', commitsText(commits), { commits });
  }
  if (asked.scale) {
    const scale = await measureScale(asked.quick, log, (end) => void endings.push(end));
    return tell('scale', scaleText(scale), { scale });
  }
  if (asked.start) {
    const starts = await measureStarts(server, asked.plan.rounds, log);
    return tell('start', startsText(starts), { starts });
  }
  if (asked.soak === null) return false;
  const env = {
    RATE_LIMIT_LOGIN: '100000000/60',
    RATE_LIMIT_TOKEN: '100000000/60',
    RATE_LIMIT_API: '100000000/60',
    MANAGEMENT_CLIENT_ID: manager.id,
    MANAGEMENT_CLIENT_SECRET: manager.secret,
  };
  const product = await startProduct({ databaseUrl: await server.create('bench_soak'), processors: '', log, env });
  endings.push(() => product.stop());
  const result = await soak(product, asked.soak);
  console.log(soakText(result));
  writeResults(asked.json ?? join(results, 'soak.json'), { machine: machine(server.version), ...result });
  return true;
}

async function main(): Promise<void> {
  const asked = readArguments(process.argv.slice(2));
  if (asked.help) return console.log(usage);
  mkdirSync(results, { recursive: true });
  const log = openSync(join(results, 'targets.log'), 'w');
  endings.push(async () => closeSync(log));
  const server = await openServer(process.env['BENCH_DATABASE_URL'] ?? null, asked.grown !== null);
  endings.push(() => server.stop());
  if (await runInstead(asked, server, log)) return;

  // The server under test has a processor of its own; the load and PostgreSQL share the others.
  const shared = asked.concurrency > 1 || cpus().length < 2;
  const rest = shared ? '' : `1-${cpus().length - 1}`;
  const processors = shared ? '' : '0';
  pin(process.pid, rest);
  if (server.pid > 0) pin(server.pid, rest);
  const env = { WEB_CONCURRENCY: String(asked.concurrency), RATE_LIMIT_LOGIN: '100000000/60' };
  const nodeArguments = profileArguments(asked.profile);
  const starts: Record<string, () => Promise<Target>> = {
    product: async () =>
      startProduct({
        databaseUrl: await server.create('bench_product'),
        processors,
        log,
        env,
        nodeArguments: asked.withoutHash ? [...nodeArguments, ...keepCheapHashes] : nodeArguments,
        ...(asked.agents && { prepare: turnAgentsOn }),
        ...(asked.withoutHash && { prepare: cheapenPasswords }),
      }),
    before: async () => {
      if (asked.before === null && !asked.agents) throw new Error('--before names the folder of the other checkout');
      const { href } = pathToFileURL(join(resolve(asked.before ?? '.'), 'bench/targets/product.ts'));
      const other = (await import(href)) as { startProduct: typeof startProduct };
      const options = { databaseUrl: await server.create('bench_before'), processors, log, env };
      return { ...(await other.startProduct(options)), name: 'before' };
    },
    ceiling: async () => startCeiling({ databaseUrl: await server.create('bench_ceiling'), processors, log }),
    'oidc-provider': async () => startOidcProvider({ databaseUrl: await server.create('bench_oidc_provider'), processors, log }),
    keycloak: async () => {
      const names = asked.scenarios.map(({ name }) => name);
      return startKeycloak({ databaseUrl: await server.create('bench_keycloak'), processors, log }, names);
    },
  };
  const targets: Target[] = [];
  for (const name of asked.scenarios.length > 0 || asked.logins ? asked.only.filter((one) => !jobQueues.includes(one)) : []) {
    const start = starts[name];
    if (!start) throw new Error(`there is no target ${name}`);
    const target = await start();
    endings.push(() => target.stop());
    targets.push(target);
  }

  const about = machine(server.version);
  console.log(Object.entries(about).map(([name, value]) => `${name}: ${value}`).join('\n')); // prettier-ignore
  const measured: ScenarioResult[] = [];
  for (const scenario of asked.scenarios) {
    console.error(`... ${scenario.title}`);
    measured.push(await measureScenario(scenario, targets, asked.plan, server.pid));
  }
  if (measured.length > 0) console.log(`\n${reportText(measured)}`);
  const product = targets.find((target) => target.name === 'product');
  const logins = asked.logins && product ? await measureLogins(product, asked.plan) : null;
  if (logins) console.log(logins.text);
  const webhookPlan = { ...asked.plan, only: asked.only, events: asked.events, processors, log, nodeArguments };
  const webhook = asked.webhook ? await measureWebhooks(server, webhookPlan, (end) => void endings.push(end)) : null;
  if (webhook) console.log(`\n${webhookText(webhook)}`);
  writeResults(asked.json ?? join(results, 'latest.json'), { machine: about, plan: asked.plan, scenarios: measured, logins, webhook });
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void endAll().then(() => process.exit(1)));
main()
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  })
  .finally(() => endAll())
  .finally(() => process.exit());
