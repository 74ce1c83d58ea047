import type { Request, Response } from 'express';
import { ApiError } from '../../errors.js';
import { queryOf } from '../../http/request/form.js';
import { named } from '../../lib/named.js';
import { isUuid } from '../../lib/random.js';
import type { ResourceObject } from '../../management/documents.js';
import { presentations } from '../pages/index.js';
import type { SearchResult, SearchResults } from '../parts/page-parts.js';
import { listingOf } from '../parts/lists/listing.js';
import { may, recordOf, resourceOf, type ListQuery } from '../parts/records/objects.js';
import { recordPath, type Presentation } from '../parts/records/presentation.js';
import { readableIncludes } from '../parts/records/record.js';
import type { Render } from '../parts/render.js';
import { terms } from '../parts/words.js';
import { openPages } from './navigation.js';

/** The most that a group shows; its list has the rest. */
const mostShown = 5;
/** As long as `filter[search]` takes. */
const longest = 255;

/** What stands beside a name, so that two of a name are told apart. */
const details = ['email', 'identifier', 'url', 'issuer', 'description', 'display_name'];

const isId = (text: string): boolean => isUuid(text.toLowerCase());

const isFilled = (value: unknown): value is string => typeof value === 'string' && value !== '';

function resultOf(presentation: Presentation, record: ResourceObject, included: readonly ResourceObject[] = []): SearchResult {
  const text = presentation.name(record, included);
  const detail = details.map((name) => record.attributes[name]).find((value) => isFilled(value) && value !== text);
  return {
    text,
    detail: isFilled(detail) ? detail : record.id === text ? null : record.id,
    path: recordPath(presentation.path, record.id),
  };
}

/** The first records of a list that a filter leaves, and the address of the list where it has more. */
async function recordsBy(req: Request, res: Response, presentation: Presentation, filter: string, value: string): Promise<SearchResults> {
  const { path, title } = presentation;
  const query: ListQuery = { filters: { [filter]: value }, size: mostShown, include: readableIncludes(req, path, presentation.include) };
  const { listing, mistake } = await listingOf(req, res, path, query);
  const more = listing.next === null ? null : `/dashboard/${path}?${new URLSearchParams({ [filter]: value }).toString()}`;
  return { title, mistake, more, items: listing.records.map((record) => resultOf(presentation, record, listing.included)) };
}

async function recordById({ call }: Request, presentation: Presentation, id: string): Promise<SearchResults> {
  try {
    const { record } = await recordOf(call, presentation.path, id);
    return { title: presentation.title, mistake: null, more: null, items: [resultOf(presentation, record)] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { title: presentation.title, mistake: null, more: null, items: [] };
  }
}

/** Lists whose filter of this name is an id of something else: what a request or an event left. */
const leftBy: Readonly<Record<string, string>> = named({ request_traces: 'request_id', webhook_deliveries: 'event_id' });

/** The pages whose name, or whose entry's name, has every word. */
function pagesFor(req: Request, text: string): SearchResults {
  const sought = text.toLowerCase().split(/\s+/);
  const items = openPages(req.call)
    .filter(({ text: name, detail }) => sought.every((word) => `${name} ${detail ?? ''}`.toLowerCase().includes(word)))
    .slice(0, mostShown);
  return { title: terms.pages, mistake: null, more: null, items };
}

/** What the viewer may see of all that fits, in groups: each list judges for itself who reads it. */
async function resultsFor(req: Request, res: Response, text: string): Promise<readonly SearchResults[]> {
  const groups = presentations
    .filter(({ path }) => may(req.call, path, 'read'))
    .flatMap((presentation): Promise<SearchResults>[] => {
      const { path } = presentation;
      const { filters, source } = resourceOf(req.call, path);
      const left = leftBy[path];
      return [
        ...(filters['search'] ? [recordsBy(req, res, presentation, 'search', text)] : []),
        ...(isId(text) && !filters['search'] && source.keyType === 'uuid' ? [recordById(req, presentation, text.toLowerCase())] : []),
        ...(isId(text) && left !== undefined ? [recordsBy(req, res, presentation, left, text.toLowerCase())] : []),
      ];
    });
  const found = [pagesFor(req, text), ...(await Promise.all(groups))];
  return found.filter(({ items, mistake }) => items.length > 0 || mistake !== null);
}

/** GET /dashboard/search?q=: pages and records by name, address or id. What only one record can be meant by leads to it. */
export const searchPage = (render: Render) => async (req: Request, res: Response) => {
  const text = (queryOf(req).get('q') ?? '').trim();
  const isTooLong = text.length > longest;
  const groups = text === '' || isTooLong ? [] : await resultsFor(req, res, text);
  const paths = new Set(groups.flatMap(({ items }) => items.map(({ path }) => path)));
  const [only] = paths;
  if (only !== undefined && paths.size === 1 && (isId(text) || only.endsWith(`/${encodeURIComponent(text)}`)))
    return res.redirect(303, only);
  const title = text === '' ? terms.search : `Search results for “${text.slice(0, longest)}”`;
  const empty = isTooLong
    ? { title: 'This search is too long', text: `Search for at most ${longest} characters.` }
    : text === ''
      ? {
          title: 'Find anything',
          text: 'Enter any part of a name or an address, or a whole ID: of a user, a client, a webhook, a session, a request or an event.',
        }
      : { title: terms.nothing_matches, text: 'Try fewer words, or a part of a name. A whole ID finds its record.' };
  render(
    req,
    res,
    { title: groups.length > 0 ? title : terms.search, document_title: title, parts: [{ kind: 'results', groups, empty }] },
    isTooLong ? 400 : 200,
  );
};
