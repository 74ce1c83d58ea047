import { rowFunctions, type RecordRow } from '../records.js';
import { table, type Scope } from '../scope.js';

/** What a claim has to be: this text, one of these, or a text that begins so. */
export type ClaimCondition = string | readonly string[] | { readonly prefix: string };

/** A row of `federated_credentials`: which tokens of a trusted issuer prove a client. */
export type FederatedCredentialRow = RecordRow & {
  client_id: string;
  trusted_issuer_id: string;
  audience: string;
  claims: Readonly<Record<string, ClaimCondition>>;
};

const withJson = (row: Partial<FederatedCredentialRow>): Partial<FederatedCredentialRow> =>
  row.claims === undefined ? row : { ...row, claims: JSON.stringify(row.claims) as never };

export const listCredentialsOfIssuer = async (scope: Scope, trusted_issuer_id: string): Promise<FederatedCredentialRow[]> =>
  (await table<FederatedCredentialRow>(scope, 'federated_credentials')
    .where({ trusted_issuer_id })
    .orderBy('id')) as FederatedCredentialRow[];

export const hasFederatedCredential = async (scope: Scope, client_id: string): Promise<boolean> =>
  (await table<FederatedCredentialRow>(scope, 'federated_credentials').where({ client_id }).first('id')) !== undefined;

export const {
  insert: insertFederatedCredential,
  update: updateFederatedCredential,
  remove: deleteFederatedCredential,
} = rowFunctions<FederatedCredentialRow>('federated_credentials', withJson);
