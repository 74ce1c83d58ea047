import type { ApiResource, Client } from '../../domain/clients/clients.js';
import { judgeDetails } from '../../domain/tokens/authorization-details.js';
import { PageError, type OnwardLink } from '../../errors.js';
import type { Detail } from '../../lib/authorization-details.js';
import { message } from '../../lib/languages/messages.js';
import type { Parameters } from '../../lib/parameters.js';

/** What the person allowed of a request on the consent page: all of it but for details that were unticked, by their places. */
export type Allowed = { readonly details: ReadonlySet<number> };

export const detailBox = (index: number): string => `detail_${index}`;

/** The answer in the form of the page. */
export const allowedIn = (form: Parameters): Allowed => ({
  details: new Set(Object.keys(form.all).flatMap((name) => (/^detail_\d$/.test(name) ? [Number(name.slice('detail_'.length))] : []))),
});

/** The request without the details that the person did not allow. */
export function onlyAllowed<Asked extends { readonly authorization_details: readonly Detail[] | null }>(
  request: Asked,
  allowed: Allowed | null,
): Asked {
  const { authorization_details: details } = request;
  if (details === null || allowed === null) return request;
  return { ...request, authorization_details: details.filter((_detail, index) => allowed.details.has(index)) };
}

/**
 * The details of a question that waited, as types are by now.
 * @throws {PageError} 400 when the client could not ask for one of them any more: nobody is asked for less than what it waits for
 */
export function detailsStillAsked(
  { client, resource }: { readonly client: Client; readonly resource: ApiResource | null },
  details: readonly Detail[] | null,
  next: OnwardLink,
): readonly Detail[] | null {
  const judged = details && judgeDetails(client, resource, details);
  if (typeof judged !== 'string') return judged;
  throw new PageError(400, 'invalid_authorization_details', message('refusal.resource_gone'), {}, undefined, next).by('details_not_taken');
}
