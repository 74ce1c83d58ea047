import { newStamps } from '../../db/records.js';
import {
  findSetupLink,
  findSetupLinkByDigest,
  insertSetupLink,
  updateOpenSetupLink,
  updateUnopenedSetupLink,
  type SetupLinkRow,
  type SetupPart,
} from '../../db/tables/setup_links.js';
import { digest, equalDigests } from '../../lib/digest.js';
import { isUuid, randomToken } from '../../lib/random.js';
import type { Actor } from '../actor.js';
import type { SetupTest } from '../connections/connections.js';
import type { Context } from '../context.js';
import { findOrganization, type Organization } from '../organizations/organizations.js';
import type { Origin } from '../origin.js';
import { organizationPermissions } from '../reach/management-permissions.js';
import { mayStillMake } from '../reach/maker.js';
import { reachOfSetupLink } from '../reach/reach-of-organizations.js';
import { invalidTransition } from '../refusal.js';

export type SetupLink = SetupLinkRow;
export type SetupLinkInput = { readonly parts: SetupPart[]; readonly expires_in?: number };

export const setupLinkStatuses = ['pending', 'started', 'finished', 'expired', 'revoked'] as const;
export type SetupLinkStatus = (typeof setupLinkStatuses)[number];

/** How long a link is good, in seconds. */
export const setupLinkLifetime = { usual: 604_800, least: 3_600, most: 2_592_000 } as const;

/** The collection that each part is a matter of. */
const collectionsOfParts = {
  domains: 'organization_domains',
  connection: 'connections',
  directory: 'directories',
} as const satisfies Record<SetupPart, string>;

type Times = Pick<SetupLinkRow, 'started_at' | 'finished_at' | 'revoked_at' | 'expires_at'>;

export function setupLinkStatus({ started_at, finished_at, revoked_at, expires_at }: Times, now: Date): SetupLinkStatus {
  if (revoked_at !== null) return 'revoked';
  if (finished_at !== null) return 'finished';
  if (expires_at <= now) return 'expired';
  return started_at === null ? 'pending' : 'started';
}

/** Where the link leads, which its maker alone is told. */
const setupUrl = ({ environment }: Pick<Context, 'environment'>, token: string): string => `${environment.issuer}/setup/${token}`;

export async function createSetupLink(
  tx: Context,
  { actor_kind, actor_id }: Actor,
  { parts, expires_in = setupLinkLifetime.usual }: SetupLinkInput,
  { id: organization_id }: Pick<Organization, 'id'>,
): Promise<{ readonly link: SetupLink; readonly url: string }> {
  const now = tx.clock.now();
  const token = randomToken('su_');
  const stamps = newStamps(now);
  const expires_at = new Date(now.getTime() + expires_in * 1000);
  const link = await insertSetupLink(tx.scope, {
    ...stamps,
    organization_id,
    sections: parts,
    maker_id: actor_kind === 'user' ? actor_id : null,
    token_digest: digest(token),
    expires_at,
  });
  return { link, url: setupUrl(tx, token) };
}

/** Ends the link; what was set up with it stays. @throws {Refusal} 409 for one that is no longer good */
export async function revokeSetupLink(tx: Context, { id, ...link }: SetupLink): Promise<SetupLink> {
  const now = tx.clock.now();
  const status = setupLinkStatus(link, now);
  const isGood = status === 'pending' || status === 'started';
  const revoked = isGood ? await updateOpenSetupLink(tx.scope, id, { revoked_at: now, updated_at: now }) : null;
  if (!revoked) throw invalidTransition(`The link is ${status}.`);
  return revoked;
}

/** A link with its organization, and whether the browser is the one that opened it. */
export type HeldSetupLink = {
  readonly link: SetupLink;
  readonly organization: Organization;
  readonly status: SetupLinkStatus;
  readonly isOwnBrowser: boolean;
};

/** Whether its maker may make it by now; a client's goes on until it is revoked. */
const stands = async (ctx: Context, { maker_id, organization_id }: SetupLink): Promise<boolean> =>
  maker_id === null ||
  mayStillMake(ctx, {
    maker_id,
    organization_id,
    permission: 'setup_links:write',
    reach: await reachOfSetupLink(ctx, { organization_id }),
  });

/**
 * The link that an address names: by its token, or by its id for the browser that opened it, which needs the token no more. Null for any other, and where
 * the organization is disabled.
 * @param browser_secret that of the browser's cookie
 */
export async function openSetupLink(ctx: Context, name: string, browser_secret: string | null): Promise<HeldSetupLink | null> {
  const byToken = /^su_[\w-]{43}$/.test(name);
  if (!byToken && !isUuid(name)) return null;
  const link = await (byToken ? findSetupLinkByDigest(ctx.scope, digest(name)) : findSetupLink(ctx.scope, name));
  const organization = link && (await findOrganization(ctx, link.organization_id));
  if (!link || organization?.status !== 'enabled') return null;
  const isOwnBrowser = browser_secret !== null && link.browser_digest !== null && equalDigests(link.browser_digest, digest(browser_secret));
  if (!byToken && !isOwnBrowser) return null;
  const status = setupLinkStatus(link, ctx.clock.now());
  const isGood = status === 'pending' || status === 'started';
  return { link, organization, status: isGood && !(await stands(ctx, link)) ? 'revoked' : status, isOwnBrowser };
}

/** Who acts when the browser of the link does: with the permissions of its parts, and the weight of those who administer the organization. */
export function setupLinkActor({ id, sections }: SetupLink, organization: Organization, origin: Origin): Actor {
  const permissions = sections.flatMap((part) => [`${collectionsOfParts[part]}:read`, `${collectionsOfParts[part]}:write`]);
  return {
    actor_kind: 'system',
    actor_id: id,
    display: `A set-up link of ${organization.display_name}`,
    permissions: new Set(permissions),
    reach: new Set(organizationPermissions),
    organization_id: organization.id,
    setup_link_id: id,
    origin,
  };
}

/** Gives the link to the browser, or finds nothing where another had it first. */
export async function startSetupLink(tx: Context, { id }: SetupLink, browser_secret: string): Promise<SetupLink | null> {
  const now = tx.clock.now();
  return updateUnopenedSetupLink(tx.scope, id, { browser_digest: digest(browser_secret), started_at: now, updated_at: now });
}

/** Notes which connection the link has made. */
export const noteSetupConnection = (tx: Context, { id }: SetupLink, connection_id: string): Promise<SetupLink | null> =>
  updateOpenSetupLink(tx.scope, id, { connection_id, tested_version: null, updated_at: tx.clock.now() });

/** Notes that somebody was let in by the connection as it is in that version. */
export const noteSetupTest = (ctx: Context, { link_id, version }: SetupTest): Promise<SetupLink | null> =>
  updateOpenSetupLink(ctx.scope, link_id, { tested_version: version, updated_at: ctx.clock.now() });

/** Ends the link for good, or finds nothing where it has ended already. */
export async function finishSetupLink(tx: Context, { id }: SetupLink): Promise<SetupLink | null> {
  const now = tx.clock.now();
  return updateOpenSetupLink(tx.scope, id, { finished_at: now, updated_at: now });
}
