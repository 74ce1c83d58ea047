import { findEnvironment, listEnvironments, type EnvironmentRow } from '../../db/tables/environments.js';
import { listEnabledDetailTypeNames } from '../../db/tables/authorization_detail_types.js';
import { listAllVerifiedDomains, listHostsOf, type HostRow } from '../../db/tables/custom_domains.js';
import type { Config } from '../../config.js';
import type { Deps } from '../context.js';
import type { Environment } from '../environment.js';
import { pageTextsOf } from './page-texts.js';

/** `<slug>.<host of BASE_URL>`, or BASE_URL itself for the default environment. */
export function baseUrlOf(config: Pick<Config, 'baseUrl'>, row: Pick<EnvironmentRow, 'slug' | 'is_default'>): string {
  if (row.is_default) return config.baseUrl;
  const url = new URL(config.baseUrl);
  return `${url.protocol}//${row.slug}.${url.host}`;
}

const unique = (values: readonly string[]) => [...new Set(values)];

/** What each host of an environment is for: three lists, none of which follows from another. */
function hostsOf(
  base_url: string,
  { base_url_issuer_until, passkey_rp_id }: Pick<EnvironmentRow, 'base_url_issuer_until' | 'passkey_rp_id'>,
  rows: readonly HostRow[],
): Pick<Environment, 'issuer' | 'origins' | 'earlier_issuers' | 'passkey_origins'> {
  const domains = rows.map((row) => ({ ...row, origin: `https://${row.domain}` }));
  const answering = domains.filter(({ status }) => status === 'verified');
  const issuer = answering.find(({ is_primary }) => is_primary)?.origin ?? base_url;
  const origins = [base_url, ...answering.map(({ origin }) => origin)];
  const earlier = [{ origin: base_url, issuer_until: base_url_issuer_until }, ...domains];
  const relying = origins.filter((origin) => new URL(origin).hostname === passkey_rp_id);
  const chosen = answering.filter(({ accepts_passkeys }) => accepts_passkeys).map(({ origin }) => origin);
  return {
    issuer,
    origins,
    earlier_issuers: earlier.flatMap(({ origin, issuer_until: until }) => (until && origin !== issuer ? [{ issuer: origin, until }] : [])),
    passkey_origins: unique([issuer, base_url, ...relying, ...chosen]),
  };
}

/** The row with what follows from BASE_URL and the domains, and its texts. */
export async function completeEnvironment(deps: Pick<Deps, 'config' | 'db' | 'logger'>, row: EnvironmentRow): Promise<Environment> {
  const base_url = baseUrlOf(deps.config, row);
  const hosts = hostsOf(base_url, row, await listHostsOf(deps.db.knex, row.id));
  const page_texts = await pageTextsOf(deps, row.id);
  const authorization_details_types = await listEnabledDetailTypeNames(deps.db.knex, row.id);
  return { ...row, ...hosts, base_url, management_audience: `${base_url}/api`, page_texts, authorization_details_types };
}

/** The environment of the id, remembered until it, its domains or its texts change. */
export const findEnvironmentById = async (deps: Deps, id: string): Promise<Environment | null> =>
  deps.cache.get(id, 'environments', id, async () => {
    const row = await findEnvironment(deps.db.knex, id);
    return row && completeEnvironment(deps, row);
  });

/** The same for what works by itself: null also while the environment is held, and once it has moved (specification 24.2.2). */
export async function findServedEnvironment(deps: Deps, id: string): Promise<Environment | null> {
  const environment = await findEnvironmentById(deps, id);
  return environment?.held_at === null ? environment : null;
}

/** All hosts and their environments; small enough to be cached whole, so that requests with made-up hosts cost no statement. */
type Hosts = {
  readonly domains: ReadonlyMap<string, string>;
  readonly slugs: ReadonlyMap<string, string>;
  readonly held: ReadonlySet<string>;
  readonly default_id: string;
};

async function loadHosts(deps: Deps): Promise<Hosts | null> {
  const [environments, domains] = await Promise.all([listEnvironments(deps.db.knex), listAllVerifiedDomains(deps.db.knex)]);
  const standard = environments.find((environment) => environment.is_default);
  if (!standard) return null;
  return {
    domains: new Map(domains.map((row) => [row.domain, row.environment_id])),
    slugs: new Map(environments.map((row) => [row.slug, row.id])),
    held: new Set(environments.filter(({ held_at }) => held_at !== null).map(({ id }) => id)),
    default_id: standard.id,
  };
}

const hostsAtHand = (deps: Deps): Promise<Hosts | null> => deps.cache.get('*', 'hosts', 'all', () => loadHosts(deps));

/** Has {@link isKnownHeld} know. */
export const rememberHeld = async (deps: Deps): Promise<void> => void (await hostsAtHand(deps));

/** Whether the environment is held, as far as that is remembered and may be trusted. */
export const isKnownHeld = (deps: Deps, id: string): boolean => deps.cache.recall<Hosts>('*', 'hosts', 'all')?.held.has(id) ?? false;

/** Undefined in a cell for a host of none of its environments. */
function idOf(hosts: Hosts, { baseHost: own, cell }: Pick<Config, 'baseHost' | 'cell'>, host: string): string | undefined {
  const name = host.toLowerCase();
  if (name === own) return hosts.default_id;
  const slug = name.endsWith(`.${own}`) ? name.slice(0, -own.length - 1) : '';
  return hosts.domains.get(name.replace(/:\d+$/, '')) ?? hosts.slugs.get(slug) ?? (cell === null ? hosts.default_id : undefined);
}

/**
 * The environment that answers on a host (specification 3.2.1): a verified custom domain, `<slug>.<host of BASE_URL>`, else the default one.
 * @returns null in a cell for a host of none of its environments (specification 24.1.1)
 * @throws {Error} when there is no default one either: the database was not bootstrapped
 */
export async function findEnvironmentForHost(deps: Deps, host: string): Promise<Environment | null> {
  const hosts = await hostsAtHand(deps);
  const id = hosts && idOf(hosts, deps.config, host);
  if (id === undefined) return null;
  const environment = id && (await findEnvironmentById(deps, id));
  if (!environment) throw new Error('there is no default environment; was the database bootstrapped?');
  return environment;
}

/** How long everybody may keep a public document: discovery, JWKS (`max-age`, RFC 9111 5.2.2.1). In milliseconds. */
export const publicMaxAgeMs = 300_000;

/** For public documents: from memory, as it was at most {@link publicMaxAgeMs} ago; read again beside that once it may not be trusted any more. */
export function recallPublicEnvironment(deps: Deps, host: string): Environment | undefined {
  const hosts = deps.cache.recallPublic<Hosts>('*', 'hosts', 'all', publicMaxAgeMs);
  const id = hosts && idOf(hosts.value, deps.config, host);
  const found = id === undefined ? undefined : deps.cache.recallPublic<Environment>(id, 'environments', id, publicMaxAgeMs);
  // Its failure is told to those who can't be answered without.
  if (found && !(found.fresh && hosts?.fresh)) findEnvironmentForHost(deps, host).catch(() => undefined);
  return found?.value;
}

/** The same from memory alone, at once; undefined when something of it must be read first. */
export function recallEnvironmentForHost(deps: Deps, host: string): Environment | undefined {
  const hosts = deps.cache.recall<Hosts>('*', 'hosts', 'all');
  const id = hosts && idOf(hosts, deps.config, host);
  return id === undefined ? undefined : deps.cache.recall<Environment>(id, 'environments', id);
}
