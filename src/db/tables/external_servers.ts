import type { SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { rowFunctions, type RecordRow } from '../records.js';
import { table, type Scope } from '../scope.js';

/** What an assertion says of where the person is at home. */
export const assertionTenants = ['none', 'environment', 'organization'] as const;

/** An API behind an authorization server outside, and its scopes. */
export type ExternalResource = { readonly identifier: string; readonly scopes: readonly string[] };

/** A row of `external_servers`: an authorization server outside that takes identity assertions of this environment (ID-JAG). */
export type ExternalServerRow = RecordRow & {
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
};

const withJson = (row: Partial<ExternalServerRow>): Partial<ExternalServerRow> =>
  row.resources === undefined ? row : { ...row, resources: JSON.stringify(row.resources) as never };

export const listEnabledExternalServers = async (scope: Scope): Promise<ExternalServerRow[]> =>
  (await table<ExternalServerRow>(scope, 'external_servers').where({ status: 'enabled' }).orderBy('id')) as ExternalServerRow[];

export const countExternalServersSignedWith = async (scope: Scope, signing_alg: SigningAlgorithm): Promise<number> =>
  (await table<ExternalServerRow>(scope, 'external_servers').where({ signing_alg }).select('id')).length;

/** The grants for a server are deleted with it. */
export const {
  insert: insertExternalServer,
  update: updateExternalServer,
  remove: deleteExternalServer,
} = rowFunctions<ExternalServerRow>('external_servers', withJson);
