import { insert, table, update, type Scope } from '../scope.js';

export const setupParts = ['connection', 'domains', 'directory'] as const;
export type SetupPart = (typeof setupParts)[number];

/** A row of `setup_links`: a link by which a customer's administrator sets its organization up, without an account. */
export type SetupLinkRow = {
  environment_id: string;
  id: string;
  organization_id: string;
  sections: SetupPart[];
  token_digest: Buffer;
  /** Of the secret in the cookie of the browser that opened it. */
  browser_digest: Buffer | null;
  /** What it has made. */
  connection_id: string | null;
  /** The version of the connection that the test sign-in has let somebody in with. */
  tested_version: number | null;
  expires_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  revoked_at: Date | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

export const insertSetupLink = (scope: Scope, row: Partial<SetupLinkRow>): Promise<SetupLinkRow> =>
  insert<SetupLinkRow>(scope, 'setup_links', row);

/** The link of the id, or of the digest of its token. */
export async function findSetupLink(
  scope: Scope,
  key: Pick<SetupLinkRow, 'id'> | Pick<SetupLinkRow, 'token_digest'>,
): Promise<SetupLinkRow | null> {
  return (
    (await table<SetupLinkRow>(scope, 'setup_links')
      .where(key as never)
      .first()) ?? null
  );
}

/** Changes the link while it is neither finished nor revoked and `where` holds, or finds nothing: of requests at once one does. */
export function updateOpenSetupLink(
  scope: Scope,
  id: string,
  changes: Partial<SetupLinkRow>,
  where: Partial<SetupLinkRow> = {},
): Promise<SetupLinkRow | null> {
  return update<SetupLinkRow>(scope, 'setup_links', { ...where, id, finished_at: null, revoked_at: null }, changes);
}
