type Present = Readonly<Record<string, string | undefined>>;

const loopbackHosts = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether a host is this machine's own: its name or address. */
export const isOwnMachine = (host: string) => loopbackHosts.test(host.toLowerCase()) || host === '::1';

/** The same of an address; an absent one does, since that is the default. */
export const namesLoopback = (url: string | undefined) => url === undefined || (URL.canParse(url) && isOwnMachine(new URL(url).hostname));

const pairs = [
  ['ADMIN_EMAIL', 'ADMIN_PASSWORD'],
  ['MANAGEMENT_CLIENT_ID', 'MANAGEMENT_CLIENT_SECRET'],
] as const;

/**
 * Variables that contradict each other, as sentences for the operator; each begins with the variable to change.
 * @param workers `WEB_CONCURRENCY`
 */
export function contradictionsOf(present: Present, workers: number): string[] {
  const problems: string[] = [];
  for (const [one, other] of pairs) {
    if ((present[one] === undefined) !== (present[other] === undefined)) problems.push(`${one} and ${other} must be set together`);
  }
  if (present['DATABASE_URL'] !== undefined && present['SECRET_KEY'] === undefined) {
    problems.push('SECRET_KEY is required with DATABASE_URL; make one with: openssl rand -base64 32');
  }
  for (const name of ['DATABASE_REPLICA_URL', 'DATABASE_REPLICA_URLS', 'DATABASE_REPORT_URL']) {
    if (present[name] !== undefined && present['DATABASE_URL'] === undefined)
      problems.push(`${name} needs DATABASE_URL, whose replica it is`);
  }
  if (present['DATABASE_REPLICA_URL'] !== undefined && present['DATABASE_REPLICA_URLS'] !== undefined) {
    problems.push('DATABASE_REPLICA_URL and DATABASE_REPLICA_URLS must not both be set: one address is a list too');
  }
  if (present['RATE_LIMIT_STORE'] === 'memory' && workers > 1) {
    problems.push('RATE_LIMIT_STORE=memory counts in one process; with WEB_CONCURRENCY above 1 use postgres or redis');
  }
  if (present['DEV_MAILBOX'] === 'on' && !namesLoopback(present['BASE_URL'])) {
    problems.push(
      'DEV_MAILBOX=on shows one-time codes to every caller: it needs a BASE_URL on this machine, such as http://localhost:3000',
    );
  }
  if (present['RATE_LIMIT_STORE'] === 'redis' && present['REDIS_URL'] === undefined)
    problems.push('REDIS_URL is required with RATE_LIMIT_STORE=redis');
  return problems;
}
