import type { ClientRow } from '../../db/tables/clients.js';
import { isListedHost } from '../../lib/document-client-id.js';
import type { Environment } from '../environment.js';

type Policy = Pick<Environment, 'client_id_metadata_documents' | 'client_id_metadata_hosts'>;

/** The hosts whose documents are verified now. */
export const listedHosts = (environment: Policy): readonly string[] =>
  environment.client_id_metadata_documents === 'off' ? [] : environment.client_id_metadata_hosts;

/** Whether the host of the document is listed, which verifies its clients. */
export const isListed = (environment: Policy, client_id: string): boolean =>
  isListedHost(listedHosts(environment), new URL(client_id).hostname);

/** Whether a client that is known by its document alone may come. */
export const isAdmitted = (environment: Policy, client_id: string): boolean =>
  environment.client_id_metadata_documents === 'open' || isListed(environment, client_id);

/** Whether the client may be here: one that came by its document and is unverified only while such may come. */
export const mayStay = (environment: Policy, { origin, verified, id }: Pick<ClientRow, 'origin' | 'verified' | 'id'>): boolean =>
  origin !== 'metadata_document' || verified || isAdmitted(environment, id);
