import { insert, remove, table, update, type Scope } from '../scope.js';

/** What a claim has to be: this text, one of these, or a text that begins so. */
export type ClaimCondition = string | readonly string[] | { readonly prefix: string };

/** A row of `federated_credentials`: which tokens of a trusted issuer prove a client. */
export type FederatedCredentialRow = {
  environment_id: string;
  id: string;
  client_id: string;
  trusted_issuer_id: string;
  audience: string;
  claims: Readonly<Record<string, ClaimCondition>>;
  version: number;
  created_at: Date;
  updated_at: Date;
};

const withJson = (row: Partial<FederatedCredentialRow>): Partial<FederatedCredentialRow> =>
  row.claims === undefined ? row : { ...row, claims: JSON.stringify(row.claims) as never };

export async function listCredentialsOfIssuer(scope: Scope, trusted_issuer_id: string): Promise<FederatedCredentialRow[]> {
  return (await table<FederatedCredentialRow>(scope, 'federated_credentials')
    .where({ trusted_issuer_id })
    .orderBy('id')) as FederatedCredentialRow[];
}

export async function hasFederatedCredential(scope: Scope, client_id: string): Promise<boolean> {
  return (await table<FederatedCredentialRow>(scope, 'federated_credentials').where({ client_id }).first('id')) !== undefined;
}

export async function insertFederatedCredential(scope: Scope, row: Partial<FederatedCredentialRow>): Promise<FederatedCredentialRow> {
  return insert<FederatedCredentialRow>(scope, 'federated_credentials', withJson(row));
}

export async function updateFederatedCredential(
  scope: Scope,
  id: string,
  changes: Partial<FederatedCredentialRow>,
): Promise<FederatedCredentialRow | null> {
  return update<FederatedCredentialRow>(scope, 'federated_credentials', { id }, withJson(changes));
}

export async function deleteFederatedCredential(scope: Scope, id: string): Promise<boolean> {
  return (await remove<FederatedCredentialRow>(scope, 'federated_credentials', { id })) > 0;
}
