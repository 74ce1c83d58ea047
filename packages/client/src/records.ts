import { unwrap, type Answer } from './management-error.js';

/** Where the next page begins; to be spread into the query. */
export type PageQuery = { readonly 'page[after]'?: string };

type List<One> = { readonly data: readonly One[]; readonly links: { readonly next: string | null } };

/** What a link to the next page says. */
export const cursorOf = (link: string | null): string | null =>
  link === null ? null : new URL(link, 'https://relative.invalid').searchParams.get('page[after]');

/**
 * Every record of a list, page by page: `records((page) => client.GET('/api/users', { params: { query: { ...page } } }))`.
 * @throws {ManagementError}
 */
export async function* records<One>(list: (page: PageQuery) => Promise<Answer<List<One>>>): AsyncGenerator<One, void, undefined> {
  let page: PageQuery | null = {};
  while (page !== null) {
    const { data, links }: List<One> = await unwrap(list(page));
    yield* data;
    const after: string | null = cursorOf(links.next);
    page = after === null ? null : { 'page[after]': after };
  }
}
