import type { Listing } from '../records/objects.js';
import type { ListSpec, ViewContext } from '../records/presentation.js';

/** The page of a list with what its columns show beside the records. */
export const withExtras = async (view: ViewContext, { extras }: Pick<ListSpec, 'extras'>, listing: Listing): Promise<Listing> =>
  extras ? { ...listing, extras: await extras(view, listing.records) } : listing;
