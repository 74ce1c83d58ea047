import { rowFunctions, type RecordRow } from '../records.js';
import { table, update, type Scope } from '../scope.js';

export const setupParts = ['connection', 'domains', 'directory'] as const;
export type SetupPart = (typeof setupParts)[number];

/** A row of `setup_links`: a link by which a customer's administrator sets its organization up, without an account. */
export type SetupLinkRow = RecordRow & {
  organization_id: string;
  sections: SetupPart[];
  /** The person who made it, also once they are gone; null: a client. */
  maker_id: string | null;
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
};

export const { insert: insertSetupLink } = rowFunctions<SetupLinkRow>('setup_links');

const by = async (scope: Scope, key: Partial<SetupLinkRow>): Promise<SetupLinkRow | null> =>
  (await table<SetupLinkRow>(scope, 'setup_links')
    .where(key as never)
    .first()) ?? null;

export const findSetupLink = (scope: Scope, id: string): Promise<SetupLinkRow | null> => by(scope, { id });

export const findSetupLinkByDigest = (scope: Scope, token_digest: Buffer): Promise<SetupLinkRow | null> => by(scope, { token_digest });

const open = { finished_at: null, revoked_at: null };

/** Changes the link while it is neither finished nor revoked, or finds nothing: of requests at once one ends it. */
export const updateOpenSetupLink = (scope: Scope, id: string, changes: Partial<SetupLinkRow>): Promise<SetupLinkRow | null> =>
  update<SetupLinkRow>(scope, 'setup_links', { id, ...open }, changes);

/** The same for one that no browser has yet. */
export const updateUnopenedSetupLink = (scope: Scope, id: string, changes: Partial<SetupLinkRow>): Promise<SetupLinkRow | null> =>
  update<SetupLinkRow>(scope, 'setup_links', { id, started_at: null, ...open }, changes);
