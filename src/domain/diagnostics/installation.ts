import type { Knex } from 'knex';
import type { Config } from '../../config.js';
import type { NearbyVariable, VariableProblem } from '../../lib/config-inspection.js';
import type { Sealer } from '../../lib/seal.js';
import type { Probe, Fix, RunProgram } from '../../lib/remedies.js';
import type { Clock } from '../../platform/clock.js';
import type { GuardedFetch } from '../../platform/fetch/fetch.js';
import type { PasswordHasher } from '../passwords/passwords.js';

/** Why there is no database to ask, in a sentence for the operator. `absent`: it is made by the first start. */
export type ClosedDatabase = {
  readonly fault: 'absent' | 'away' | 'directory';
  readonly finding: string;
  readonly fix?: Fix;
  readonly look?: Probe;
};

/** The database of an installation, as far as it is open; `sealer` is null where there is no SECRET_KEY to open anything with. */
export type OpenDatabase = { readonly knex: Knex; readonly sealer: Sealer | null };

/** What the doctor looks at: an installation that runs, or that should. */
export type Installation = {
  /** Of the variables that are sound. */
  readonly config: Config;
  readonly variables: { readonly problems: readonly VariableProblem[]; readonly nearby: readonly NearbyVariable[] };
  readonly clock: Pick<Clock, 'now'>;
  /** What webhooks and connections go through. */
  readonly fetch: GuardedFetch;
  readonly passwords: Pick<PasswordHasher, 'verify'>;
  readonly database: OpenDatabase | ClosedDatabase;
  readonly release: string;
  /** The version of Node that this process runs on. */
  readonly node: string;
  readonly command: RunProgram;
};

export const isOpenDatabase = (database: Installation['database']): database is OpenDatabase => 'knex' in database;
