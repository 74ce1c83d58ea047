import type { Knex } from 'knex';
import type { Probe, CommandLine, Fix } from '../../lib/remedies.js';
import type { Installation } from './installation.js';

/** How bad it is: `notice` is worth knowing, `warning` will hurt, `problem` hurts now. */
export type Gravity = 'notice' | 'warning' | 'problem';

/** What a check can say; `skipped`: it couldn't look, because of what another check says. */
export type Level = 'ok' | Gravity | 'skipped';

/** One way in which an installation can be wrong. The documentation is made of it. */
export type Fault = {
  readonly level: Gravity;
  /** When it is reported, as a clause: "the newest key is older than ...". */
  readonly when: string;
  /** What follows from it for people and applications: one sentence. */
  readonly why: string;
  /** The command or variable that mends it, as the documentation shows it. */
  readonly mend: string;
};

export type Found<Name extends string = string> = {
  readonly fault: Name;
  /** One sentence that names what is wrong here. Never a secret. */
  readonly finding: string;
  /** What mends it: a command that can be run as it stands and changes nothing but what is ours, or a variable with its value. Absent: nothing does from here. */
  readonly fix?: Fix | null;
  /** A command that only looks: it says more of what is wrong, and changes nothing. */
  readonly look?: Probe | null;
  /** What it is about: a variable, or `<collection>/<id>`. */
  readonly subject?: string | null;
};

export type CheckContext = {
  readonly installation: Installation;
  /** Runs statements that can change nothing, with a time limit. @throws what the database throws */
  readonly database: <T>(work: (trx: Knex) => Promise<T>) => Promise<T>;
  /** Whether the database can be asked and its schema is this release's. */
  readonly hasSchema: () => Promise<boolean>;
};

/** What must be well before a check can look: a database that answers, and the schema of this release. */
export type Need = 'database' | 'schema';

/** Something about an installation that can be looked at by itself. It changes nothing. */
export type Check<Name extends string = string> = {
  readonly id: string;
  readonly title: string;
  /** What it looks at, for the documentation. */
  readonly inspects: string;
  /** What it says when it found nothing. */
  readonly okText: string;
  readonly needs: Need | null;
  /** Variables without which there is nothing to look at: it is skipped while one of them is wrong. None unless given. */
  readonly variables?: readonly string[];
  readonly faults: Readonly<Record<Name, Fault>>;
  run(context: CheckContext): Promise<readonly Found<Name>[]>;
};

/** Declares a check; it can only report faults that it lists. */
export const check = <const Name extends string>(definition: Check<Name>): Check => definition;

/** Where a record is, unless in the default environment. */
export const inEnvironment = (environment: string): string => (environment === 'default' ? '' : ` of environment ${environment}`);

/** The name of a record in `subject`: `webhooks/<id>`, in another environment than the default one `environments/<slug>/webhooks/<id>`. */
export const recordSubject = (environment: string, collection: string, id: string): string =>
  `${environment === 'default' ? '' : `environments/${environment}/`}${collection}/${id}`;

/** The command line on an environment, which is reached as `<slug>.<host>` (specification 3.1); another one wants credentials of its own. */
export function cliOn({ config, command }: Installation, environment: string): CommandLine {
  const { protocol, host } = new URL(config.baseUrl);
  return (args) => command('cli', `--url ${protocol}//${environment === 'default' ? '' : `${environment}.`}${host} ${args}`);
}
