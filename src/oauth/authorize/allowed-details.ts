import type { Parameters } from '../../lib/parameters.js';
import type { AuthorizationRequest } from './request.js';

/** What the person allowed of a request on the consent page: all of it but for details that were unticked, by their places. */
export type Allowed = { readonly details: ReadonlySet<number> };

/** The name of the box of a detail. */
export const detailBox = (index: number): string => `detail_${index}`;

/** The answer in the form of the page. */
export const allowedIn = (form: Parameters): Allowed => ({
  details: new Set(Object.keys(form.all).flatMap((name) => (/^detail_\d$/.test(name) ? [Number(name.slice('detail_'.length))] : []))),
});

/** The request without the details that the person did not allow. */
export function onlyAllowed(request: AuthorizationRequest, allowed: Allowed | null): AuthorizationRequest {
  const { authorization_details: details } = request;
  if (details === null || allowed === null) return request;
  return { ...request, authorization_details: details.filter((_detail, index) => allowed.details.has(index)) };
}
