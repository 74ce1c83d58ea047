import { expect } from 'vitest';
import type { Api } from './management.js';

/** A resource object, as far as lists are compared by it. */
export type Listed = { id: string; attributes: Record<string, string> };

/** A page of a list, and the address that it was read from. */
export type ListPage = { path: string; data: Listed[] };

/** The pages of a list of the Management API from one on, by the links to the next or the previous. */
export async function pagesFrom(api: Api, start: string, direction: 'next' | 'prev'): Promise<ListPage[]> {
  const pages: ListPage[] = [];
  const collection = start.slice(0, start.indexOf('?'));
  for (let path: string | null = start; path !== null;) {
    const { status, body } = await api.get(path);
    expect([path, status]).toEqual([path, 200]);
    pages.push({ path, data: body['data'] as Listed[] });
    const link: string | null | undefined = (body['links'] as Record<string, string | null>)[direction];
    path = link ? link.slice(link.indexOf(collection)) : null;
  }
  return pages;
}

export const idsOf = (pages: readonly ListPage[]): string[][] => pages.map(({ data }) => data.map(({ id }) => id));
