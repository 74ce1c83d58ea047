import type { Request, Response } from 'express';
import { ApiError } from '../../../errors.js';
import { listOf, type Listing, type ListQuery } from '../records/objects.js';

/** The rows of the list; none where a filter or cursor doesn't fit, or whose rows could not be found in time: the page then says so, with the form to mend it. */
export async function listingOf(
  { call }: Request,
  res: Response,
  path: string,
  listQuery: ListQuery,
): Promise<{ listing: Listing; mistake: string | null; status: number }> {
  try {
    return { listing: await listOf(call, path, listQuery), mistake: null, status: 200 };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const [refused] = error.errors;
    if (refused?.status !== 400 && refused?.code !== 'list_took_too_long') throw error;
    res.set(error.headers);
    return { listing: { records: [], included: [], previous: null, next: null }, mistake: refused.detail, status: refused.status };
  }
}
