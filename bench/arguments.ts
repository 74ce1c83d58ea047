import { parseArgs } from 'node:util';
import type { Plan } from './measure.js';
import { scenarios } from './scenarios.js';
import { signInScenarios } from './sign-in-scenarios.js';

/** What is measured of every target. */
const compared = [...scenarios, ...signInScenarios];

export const usage = `npm run bench -- [scenario ...] [--quick] [--rounds N] [--seconds N] [--connections N] [--json FILE] [--only TARGETS]
                   [--concurrency N] [--profile DIR] [--without-hash] [--events N] [--before FOLDER] [--agents]
       npm run bench -- --workers [--quick] [--rounds N] [--seconds N] [--json FILE]
       npm run bench -- --replicas N [--quick] [--rounds N] [--seconds N] [--connections N] [--json FILE]
       npm run bench -- --overload [--quick] [--rounds N] [--seconds N] [--json FILE]
       npm run bench -- --locked [--quick] [--rounds N] [--json FILE]
       npm run bench -- --sign-ins N [--quick] [--rounds N] [--json FILE]
       npm run bench -- --grown [ROWS] [--quick] [--rounds N] [--seconds N]
       npm run bench -- --lists [ROWS]
       npm run bench -- --pages [PEOPLE]
       npm run bench -- --many [--quick] [--rounds N] [--json FILE]
       npm run bench -- --tail [--quick] [--seconds N] [--rate N] [--json FILE]
       npm run bench -- --commits [--quick] [--rounds N] [--json FILE]
       npm run bench -- --scale [--quick] [--json FILE]
       npm run bench -- --start [--quick] [--rounds N] [--json FILE]
       npm run bench -- --soak MINUTES [--rate N] [--json FILE]

scenarios: ${compared.map(({ name }) => name).join(', ')}
           logins   signing while sixteen people sign in
           webhook  an outbox full of deliveries, beside a bare client and job queues (bench/peers)
  --quick  shorter cells and fewer rounds
  --only   of product, ceiling, oidc-provider and, for webhook, pg-boss, graphile-worker, separated by commas;
           the first is compared with the others. keycloak too, for sign_in_page, sign_in and sign_in_whole: fetched with Maven, run with Java
  --before another checkout of the service (built, with its packages): compares the product with that one alone, or as \`before\` of --only
  --agents the product with agents, details, assertions, vault and signals on, compared with the one without (as \`before\`)
  --without-hash  the product with password hashes that cost next to nothing, as oidc-provider and keycloak have them here
  --grown  what the hot statements cost with ten thousand rows and with a million (or ROWS) in tokens, sessions, users and deliveries,
           and the janitor, instead; ten million take 35 GB of disk and half an hour
  --lists  every list that the dashboard offers of a million (or ROWS) users, sessions and deliveries, instead
  --pages  overview, search, lists and timelines of the dashboard, and \`filter[search]\`, with a million (or PEOPLE) people, instead
  --concurrency  WEB_CONCURRENCY of the product; above 1 nothing is pinned
  --events       how many deliveries the webhook scenario queues (10000)
  --workers      one process against two workers on two processors, instead
  --replicas     what an operation costs the service and PostgreSQL with one replica and with so many on one database, instead
  --overload     what one process carries, and what it does with twice as much, instead
  --locked       what clients' requests notice while people's table is locked, instead
  --sign-ins     so many sign-ins at once, and tokens beside them, instead
  --many         a thousand environments, ten thousand clients and so on, at a tenth and at all of the number, instead
  --tail         the slowest requests at 70 % of the peak (or at --rate a second, to compare two states), and what made them slow, instead
  --commits      transactions a second without a notification, with NOTIFY inside and with one afterwards; also beside a standby 20 ms away
  --scale        what each server does for an operation, by cells, replicas and processes, and whether it is as little as it should be
  --start        how long a start takes, and what memory, with a database that is there and on an empty directory, instead
  --soak         mixed load for so many minutes at --rate operations a second (100), and what the memory did, instead
  --profile      writes a processor profile of the product there
BENCH_DATABASE_URL names a PostgreSQL to use; without it a throw-away server is started.`;

/** What only the webhook scenario has beside the product. */
export const jobQueues: readonly string[] = ['pg-boss', 'graphile-worker'];

const extras = ['logins', 'webhook'];

/** What the command line asks for. @throws {Error} for what it can't mean */
export function readArguments(argv: readonly string[]) {
  const { values, positionals } = parseArgs({
    // `--grown`, `--lists` or `--pages` alone: a million.
    args: argv.flatMap((one, index) =>
      ['--grown', '--lists', '--pages'].includes(one) && !/^\d+$/.test(argv[index + 1] ?? '') ? [one, '1000000'] : [one],
    ),
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      grown: { type: 'string' },
      lists: { type: 'string' },
      pages: { type: 'string' },
      help: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: '16' },
      concurrency: { type: 'string', default: '1' },
      json: { type: 'string' },
      only: { type: 'string' },
      before: { type: 'string' },
      agents: { type: 'boolean', default: false },
      profile: { type: 'string' },
      'without-hash': { type: 'boolean', default: false },
      events: { type: 'string' },
      workers: { type: 'boolean', default: false },
      replicas: { type: 'string' },
      overload: { type: 'boolean', default: false },
      locked: { type: 'boolean', default: false },
      'sign-ins': { type: 'string' },
      many: { type: 'boolean', default: false },
      tail: { type: 'boolean', default: false },
      commits: { type: 'boolean', default: false },
      scale: { type: 'boolean', default: false },
      start: { type: 'boolean', default: false },
      soak: { type: 'string' },
      rate: { type: 'string' },
    },
  });
  const known = [...compared.map(({ name }) => name), ...extras];
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`unknown scenario ${unknown.join(', ')}; there are ${known.join(', ')}`);
  const number = (text: string | undefined, fallback: number) => {
    const value = text === undefined ? fallback : Number(text);
    if (!(value > 0)) throw new Error(`not a positive number: ${text ?? ''}`);
    return value;
  };
  const plan: Plan = {
    connections: number(values.connections, 16),
    seconds: number(values.seconds, values.quick ? 0.6 : 1.5),
    warmUp: values.quick ? 1 : 2.5,
    rounds: number(values.rounds, values.quick ? 3 : 5),
  };
  return {
    plan,
    help: values.help,
    grown: values.grown === undefined ? null : number(values.grown, 1_000_000),
    lists: values.lists === undefined ? null : number(values.lists, 1_000_000),
    pages: values.pages === undefined ? null : number(values.pages, 1_000_000),
    concurrency: number(values.concurrency, 1),
    json: values.json ?? null,
    profile: values.profile ?? null,
    withoutHash: values['without-hash'],
    workers: values.workers,
    replicas: values.replicas === undefined ? null : number(values.replicas, 4),
    overload: values.overload,
    locked: values.locked,
    signIns: values['sign-ins'] === undefined ? null : number(values['sign-ins'], 300),
    many: values.many,
    tail: values.tail,
    rate: values.rate === undefined ? null : number(values.rate, 100),
    commits: values.commits,
    scale: values.scale,
    quick: values.quick,
    start: values.start,
    soak: values.soak === undefined ? null : { minutes: number(values.soak, 30), perSecond: number(values.rate, 100) },
    only:
      values.only?.split(',') ??
      (values.before === undefined && !values.agents ? ['product', 'ceiling', 'oidc-provider', ...jobQueues] : ['product', 'before']),
    before: values.before ?? null,
    agents: values.agents,
    events: number(values.events, values.quick ? 2000 : 10_000),
    scenarios: positionals.length > 0 ? compared.filter(({ name }) => positionals.includes(name)) : compared,
    logins: positionals.length === 0 || positionals.includes('logins'),
    webhook: positionals.length === 0 || positionals.includes('webhook'),
  };
}
