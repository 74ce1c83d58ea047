import { DatabaseFailure } from '../../../db/connection/failures.js';
import { serverStateOf, type ServerState } from '../../../db/postgres/server-state.js';
import { fixes, probes } from '../../../lib/remedies.js';
import { check, type Found } from '../check.js';
import { isOpenDatabase, type Installation } from '../installation.js';

type Fault = 'absent' | 'away' | 'directory' | 'refused' | 'missing' | 'version' | 'standby' | 'connections' | 'fsync';

const oldest = 15;
const newest = 18;
/** Share of the server's connections above which they are short. */
const busy = 0.8;

/** Where DATABASE_URL leads, without its user and password. */
function databaseAddressOf({ config }: Installation): { host: string; port: string; user: string; database: string; text: string } {
  const url = config.databaseUrl !== null && URL.canParse(config.databaseUrl) ? new URL(config.databaseUrl) : null;
  const host = url?.hostname || 'localhost';
  const port = url?.port || '5432';
  const database = decodeURIComponent(url?.pathname.slice(1) ?? '');
  return { host, port, database, user: decodeURIComponent(url?.username ?? ''), text: `${host}:${port}` };
}

function codeOf(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof DatabaseFailure && cause.sqlstate !== null) return cause.sqlstate;
    const { code } = cause as { code?: unknown };
    if (typeof code === 'string') return code;
  }
  return null;
}

const reasons: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nobody listens there'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the name does not resolve'],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, 'the address can’t be reached'],
  [/^53300$/, 'it has no connection left'],
  [/^57P0/, 'it is starting or stopping'],
];

function unreachable(installation: Installation, error: unknown): Found<Fault> {
  const { text, host, port, user, database } = databaseAddressOf(installation);
  const code = codeOf(error);
  const subject = 'DATABASE_URL';
  if (code?.startsWith('28'))
    return {
      fault: 'refused',
      finding: `The database at ${text} refuses the user or the password.`,
      fix: fixes.variable('DATABASE_URL'),
      subject,
    };
  if (code === '3D000') {
    const fix = fixes.createDatabase(host, port, user, database);
    return { fault: 'missing', finding: `There is no database ${JSON.stringify(database)} at ${text}.`, fix, subject };
  }
  const why =
    reasons.find(([pattern]) => code !== null && pattern.test(code))?.[1] ?? `it doesn’t answer${code === null ? '' : ` (${code})`}`;
  const mended = installation.config.databaseUrl === null ? { fix: fixes.start() } : { look: probes.database(host, port) };
  return { fault: 'away', finding: `The database at ${text} is away: ${why}.`, ...mended, subject };
}

/** What is wrong with a server that answers, by what it says of itself. */
export function serverFaults({ config }: Pick<Installation, 'config'>, state: ServerState): Found<Fault>[] {
  const found: Found<Fault>[] = [];
  const { major, connections, connections_max: most } = state;
  if (major < oldest || major > newest) {
    const finding = `The database is PostgreSQL ${major}; this release works with ${oldest} to ${newest}.`;
    found.push({ fault: 'version', finding, fix: fixes.variable('DATABASE_URL'), subject: 'DATABASE_URL' });
  }
  if (state.in_recovery)
    found.push({
      fault: 'standby',
      finding: 'DATABASE_URL names a standby, which can’t be written to.',
      fix: fixes.variable('DATABASE_URL'),
      subject: 'DATABASE_URL',
    });
  if (!state.fsync) {
    const finding = 'The database does not wait until what it writes is on the disk (fsync is off).';
    found.push({ fault: 'fsync', finding, fix: fixes.waitForDisk() });
  }
  if (connections > most * busy) {
    const finding = `${connections} of the database's ${most} connections are open.`;
    const fix = fixes.setVariable('DATABASE_POOL_MAX', String(Math.max(4, Math.floor(config.databasePoolMax / 2))));
    found.push({ fault: 'connections', finding, fix, subject: 'DATABASE_POOL_MAX' });
  }
  return found;
}

export const databaseCheck = check({
  id: 'database',
  title: 'Database',
  inspects: 'Whether PostgreSQL answers, its version, `fsync`, and open connections.',
  okText: 'The database answers, and its version is supported.',
  needs: null,
  variables: ['DATABASE_URL', 'DATABASE_DIRECT_URL'],
  faults: {
    absent: {
      level: 'notice',
      when: '`DATA_DIR` holds no database yet',
      why: 'Nothing is wrong: the first start makes it.',
      mend: '`npm start`',
    },
    away: {
      level: 'problem',
      when: 'it doesn’t answer',
      why: 'Nobody can sign in: everything but discovery and keys answers 503.',
      mend: 'start PostgreSQL (`pg_isready`); `DATABASE_URL` if it is elsewhere',
    },
    directory: {
      level: 'problem',
      when: 'the embedded database can’t be opened',
      why: 'The service does not start.',
      mend: 'what the finding says; `DATA_DIR`',
    },
    refused: { level: 'problem', when: 'it refuses the user or the password', why: 'The service does not start.', mend: '`DATABASE_URL`' },
    missing: { level: 'problem', when: 'the server has no database of that name', why: 'The service does not start.', mend: '`createdb`' },
    version: {
      level: 'problem',
      when: 'the server is not PostgreSQL 15 to 18',
      why: 'This release was not tried with it; statements may fail or be slow.',
      mend: '`DATABASE_URL`: a server that is',
    },
    standby: {
      level: 'problem',
      when: '`DATABASE_URL` names a standby',
      why: 'Nothing can be written: nobody can sign in.',
      mend: '`DATABASE_URL`: the primary; `DATABASE_REPLICA_URL` is for standbys',
    },
    fsync: {
      level: 'warning',
      when: '`fsync` is off',
      why: 'After a power failure the database may be lost as a whole.',
      mend: '`alter system set fsync = on`, as a superuser',
    },
    connections: {
      level: 'warning',
      when: 'more than 80 % of the server’s connections are open',
      why: 'A process that starts, or opens one more, is refused.',
      mend: '`DATABASE_POOL_MAX` of each process, or `max_connections` of the server',
    },
  },
  async run({ installation, database: ask }) {
    if (!isOpenDatabase(installation.database)) return [{ ...installation.database, subject: 'DATA_DIR' }];
    let state: ServerState;
    try {
      state = await ask((trx) => serverStateOf(trx));
    } catch (error) {
      return [unreachable(installation, error)];
    }
    return serverFaults(installation, state);
  },
});
