import type { ConnectionRow } from '../../src/db/tables/connections.js';
import { Browser } from './browser.js';

/** Begins a login and returns where the browser is sent. */
export async function startAt(browser: Browser, connection: Pick<ConnectionRow, 'id'>, query: Record<string, string> = {}): Promise<URL> {
  const response = await browser.get(`/auth/sso/${connection.id}?${new URLSearchParams(query)}`);
  const location = response.headers.get('location');
  if (location === null) throw new Error(`not sent on: ${response.status} ${await response.text()}`);
  return new URL(location);
}

/** What a browser does at a provider: follows it, presses its one button, until it is sent back. Returns where to. */
export async function throughProvider(start: URL): Promise<URL> {
  const browser = new Browser(start.origin);
  let url = start;
  for (let step = 0; step < 10 && url.origin === start.origin; step++) {
    let response = await browser.get(url.href);
    if (response.status === 200 && (await response.clone().text()).includes('<form method="post">'))
      response = await browser.post(url.href, {});
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the provider answered ${response.status} ${await response.text()}`);
    url = new URL(location, url);
  }
  return url;
}

/** A whole login; the answer is that of the callback. */
export async function loginThrough(
  browser: Browser,
  connection: Pick<ConnectionRow, 'id'>,
  query: Record<string, string> = {},
): Promise<Response> {
  const back = await throughProvider(await startAt(browser, connection, query));
  return browser.get(back.pathname + back.search);
}

/** The stable code on an error page. */
export async function codeOf(response: Response): Promise<string> {
  const html = await response.text();
  return /id="error-code">([^<]*)</.exec(html)?.[1] ?? `no code on the page: ${response.status} ${html.slice(0, 300)}`;
}
