import type { Browser } from './browser.js';

/** Where a person ends up who opens the address in a browser: the first page. */
export async function open(browsers: readonly Browser[], address: URL): Promise<{ url: URL; text: string }> {
  let url = address;
  for (let hop = 0; hop < 10; hop++) {
    const { origin, pathname, search } = url;
    const browser = browsers.find((one) => new URL(one.origin).origin === origin);
    if (!browser) throw new Error(`nobody is at ${url.href}`);
    const response = await browser.get(pathname + search);
    const location = response.headers.get('location');
    if (location === null) return { url, text: await response.text() };
    url = new URL(location, url);
  }
  throw new Error(`round and round, at last ${url.href}`);
}
