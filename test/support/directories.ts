import { insertOrganization, type OrganizationRow } from '../../src/db/tables/organizations.js';
import { insertOrganizationDomain } from '../../src/db/tables/organization_domains.js';
import { transaction, type Context } from '../../src/domain/context.js';
import { createDirectory, directoryUrl, type Directory } from '../../src/domain/directories/directories.js';
import { randomToken, uuidv7 } from '../../src/lib/random.js';

/** An organization with a verified domain and a directory, and its client. */
export type TestDirectory = {
  readonly organization: OrganizationRow;
  readonly domain: string;
  readonly directory: Directory;
  readonly token: string;
  readonly url: string;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ScimAnswer>;
};

// oxlint-disable-next-line typescript/no-explicit-any -- what came, of which tests ask for members
export type ScimAnswer = { readonly status: number; readonly headers: Headers; readonly body: any };

const stamp = (ctx: Context) => {
  const now = ctx.clock.now();
  return { id: uuidv7(now.getTime()), created_at: now, updated_at: now };
};

export async function addOrganization(ctx: Context, row: Partial<OrganizationRow> = {}): Promise<OrganizationRow> {
  const name =
    row.name ??
    `org-${randomToken('')
      .slice(0, 8)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, '0')}`;
  return insertOrganization(ctx.scope, { ...stamp(ctx), name, display_name: name, ...row });
}

export async function addVerifiedDomain(ctx: Context, organization_id: string, domain: string): Promise<void> {
  const verified = { status: 'verified', verified_at: ctx.clock.now(), last_checked_at: ctx.clock.now() } as const;
  await insertOrganizationDomain(ctx.scope, { ...stamp(ctx), organization_id, domain, verification_token: randomToken(''), ...verified });
  ctx.cache.invalidate(ctx.environment.id, 'organization_domains');
}

/** Sends a request as a directory does; the body as `application/scim+json`. */
export async function sendScim(
  url: string,
  token: string | null,
  method: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ScimAnswer> {
  const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  const own = {
    ...(token !== null && { Authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'Content-Type': 'application/scim+json' }),
  };
  const answer = await fetch(url, { method, ...sent, headers: { ...own, ...headers } });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) };
}

export async function addDirectory(ctx: Context, domain: string, row: Partial<OrganizationRow> = {}): Promise<TestDirectory> {
  const organization = await addOrganization(ctx, row);
  await addVerifiedDomain(ctx, organization.id, domain);
  const { directory, token } = await transaction(ctx, (tx) => createDirectory(tx, {}, organization));
  const url = directoryUrl(ctx, directory);
  const send: TestDirectory['send'] = (method, path, body, headers) => sendScim(`${url}${path}`, token, method, body, headers);
  return { organization, domain, directory, token, url, send };
}
