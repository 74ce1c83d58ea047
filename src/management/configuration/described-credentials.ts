import type { FederatedCredentialRow } from '../../db/tables/federated_credentials.js';
import { federated_credentials } from '../resources/federated_credentials.js';
import { permissionFor } from '../resource.js';
import type { DescribedCredential } from './document.js';
import { documentKinds } from './kinds.js';

export type LiveCredential = { readonly id: string; readonly described: DescribedCredential };

/** What it takes to see which federated credentials a client has. */
export const credentialPermissions = [
  permissionFor(federated_credentials, 'read'),
  permissionFor(documentKinds.trusted_issuer.resource, 'read'),
];

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1);

const textOf = ({ trusted_issuer, audience, claims }: DescribedCredential): string =>
  JSON.stringify([trusted_issuer, audience ?? null, Object.entries(claims).sort(byName)]);

/** Credentials in the order in which documents are compared, each once. */
export function sortedCredentials(some: readonly DescribedCredential[]): DescribedCredential[] {
  const byText = new Map(some.map((one): [string, DescribedCredential] => [textOf(one), one]));
  return [...byText].sort(byName).map(([, one]) => one);
}

/** What a document says of a credential: `audience` where it is another than the issuer of the environment. */
export function describedCredential(row: FederatedCredentialRow, trusted_issuer: string, issuer: string): DescribedCredential {
  const { audience, claims } = row;
  return { trusted_issuer, ...(audience !== issuer && { audience }), claims };
}

/** Those that the others don't have. */
export const without = (some: readonly DescribedCredential[], others: readonly DescribedCredential[]) => {
  const texts = new Set(others.map(textOf));
  return some.filter((one) => !texts.has(textOf(one)));
};
