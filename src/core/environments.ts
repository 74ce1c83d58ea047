import { findDefaultEnvironment, findEnvironment, findEnvironmentBySlug, type EnvironmentRow } from '../db/tables/environments.js';
import { findEnvironmentIdByDomain, listVerifiedDomains } from '../db/tables/custom_domains.js';
import type { Config } from '../config.js';
import type { Deps } from './context.js';

/** An environment as the service works with it: its row and what follows from BASE_URL and its domains. */
export type Environment = EnvironmentRow & {
  /** `iss` of everything it issues: the primary custom domain, else `base_url`. Never taken from a request (decisions 3). */
  readonly issuer: string;
  /** Where it is reached without a custom domain. */
  readonly base_url: string;
  /** Every `iss` that its tokens may bear: the issuer, and what was the issuer before a domain changed it. */
  readonly issuers: readonly string[];
  /** `aud` of tokens for its Management API. */
  readonly management_audience: string;
};

/** `<slug>.<host of BASE_URL>`, or BASE_URL itself for the default environment. */
export function baseUrlOf(config: Pick<Config, 'baseUrl'>, row: Pick<EnvironmentRow, 'slug' | 'is_default'>): string {
  if (row.is_default) return config.baseUrl;
  const url = new URL(config.baseUrl);
  return `${url.protocol}//${row.slug}.${url.host}`;
}

async function complete(deps: Pick<Deps, 'config' | 'knex'>, row: EnvironmentRow): Promise<Environment> {
  const domains = await listVerifiedDomains(deps.knex, row.id);
  const base_url = baseUrlOf(deps.config, row);
  const primary = domains.find((domain) => domain.is_primary);
  const issuer = primary ? `https://${primary.domain}` : base_url;
  const issuers = [...new Set([issuer, base_url, ...domains.map((domain) => `https://${domain.domain}`)])];
  return { ...row, issuer, base_url, issuers, management_audience: `${base_url}/api` };
}

/** The environment of the id, remembered until it or its domains change. */
export async function findEnvironmentById(deps: Deps, id: string): Promise<Environment | null> {
  return deps.cache.get(id, 'environments', id, async () => {
    const row = await findEnvironment(deps.knex, id);
    return row && complete(deps, row);
  });
}

async function resolveHost(deps: Deps, host: string): Promise<string | null> {
  const own = new URL(deps.config.baseUrl).host;
  const name = host.toLowerCase();
  if (name !== own) {
    const byDomain = await findEnvironmentIdByDomain(deps.knex, name.replace(/:\d+$/, ''));
    if (byDomain) return byDomain;
    if (name.endsWith(`.${own}`)) {
      const bySlug = await findEnvironmentBySlug(deps.knex, name.slice(0, -own.length - 1));
      if (bySlug) return bySlug.id;
    }
  }
  return (await findDefaultEnvironment(deps.knex))?.id ?? null;
}

const hostSyntax = /^[a-z0-9.\-:[\]]{1,260}$/i;

/**
 * The environment that answers on a host (decisions 3): a verified custom domain, `<slug>.<host of BASE_URL>`, else the
 * default one. Unknown hosts aren't remembered one by one, so that a stream of made-up names costs no memory.
 */
export async function findEnvironmentForHost(deps: Deps, host: string): Promise<Environment> {
  const own = new URL(deps.config.baseUrl).host;
  const known = hostSyntax.test(host) && (host.toLowerCase() === own || host.length < 64) ? host.toLowerCase() : own;
  const id = await deps.cache.get('*', 'hosts', known, () => resolveHost(deps, known));
  const environment = id === null ? null : await findEnvironmentById(deps, id);
  if (!environment) throw new Error('there is no default environment; was the database bootstrapped?');
  return environment;
}
