import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { insert, remove, table, update, type Scope } from '../scope.js';

/** What an assertion says of where the person is at home. */
export const assertionTenants = ['none', 'environment', 'organization'] as const;

/** An API behind an authorization server outside, and its scopes. */
export type ExternalResource = { readonly identifier: string; readonly scopes: readonly string[] };

/** A row of `external_servers`: an authorization server outside that takes identity assertions of this environment (ID-JAG). */
export type ExternalServerRow = {
  environment_id: string;
  id: string;
  name: string;
  issuer: string;
  /** Other names by which clients ask for it. */
  audiences: string[];
  resources: readonly ExternalResource[];
  include_email: boolean;
  tenant: (typeof assertionTenants)[number];
  aud_tenant: string | null;
  /** Seconds. */
  lifetime: number;
  signing_alg: SigningAlgorithm;
  /** Whether assertions for it are bound to a key always (RFC 9449). */
  require_proof: boolean;
  /** Its client here, whose people it knows by what that is told of them; null: none. */
  sign_in_client_id: string | null;
  status: 'enabled' | 'disabled';
  version: number;
  created_at: Date;
  updated_at: Date;
};

const withJson = (row: Partial<ExternalServerRow>): Partial<ExternalServerRow> =>
  row.resources === undefined ? row : { ...row, resources: JSON.stringify(row.resources) as never };

export const listEnabledExternalServers = async (scope: Scope): Promise<ExternalServerRow[]> =>
  (await table<ExternalServerRow>(scope, 'external_servers').where({ status: 'enabled' }).orderBy('id')) as ExternalServerRow[];

export const countExternalServersSignedWith = async (scope: Scope, signing_alg: SigningAlgorithm): Promise<number> =>
  (await table<ExternalServerRow>(scope, 'external_servers').where({ signing_alg }).select('id')).length;

export const insertExternalServer = (scope: Scope, row: Partial<ExternalServerRow>): Promise<ExternalServerRow> =>
  insert<ExternalServerRow>(scope, 'external_servers', withJson(row));

export const updateExternalServer = (scope: Scope, id: string, changes: Partial<ExternalServerRow>): Promise<ExternalServerRow | null> =>
  update<ExternalServerRow>(scope, 'external_servers', { id }, withJson(changes));

/** Deletes a server with the grants for it. */
export const deleteExternalServer = async (scope: Scope, id: string): Promise<boolean> =>
  (await remove<ExternalServerRow>(scope, 'external_servers', { id })) > 0;
