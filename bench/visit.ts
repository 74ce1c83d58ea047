import { requestText, type Connection, type Reply } from './driver.js';
import type { Target } from './targets/target.js';

/** A page with a form, as a person has it before them. */
export type Page = { readonly path: string; readonly html: string };

const unescaped = (text: string) =>
  text.replaceAll('&amp;', '&').replaceAll('&#38;', '&').replaceAll('&#34;', '"').replaceAll('&quot;', '"');

const attribute = (tag: string, name: string): string | undefined => {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined ? undefined : unescaped(value);
};

/** The first form that posts: where to, its hidden fields, and the names of all others. */
export function formOf({ path, html }: Page): { action: string; hidden: Record<string, string>; names: Set<string> } {
  const form = /<form[^>]*method="post"[^>]*>[\s\S]*?<\/form>/i.exec(html)?.[0];
  if (form === undefined) throw new Error(`there is no form at ${path}: ${html.slice(0, 300)}`);
  const hidden: Record<string, string> = {};
  const names = new Set<string>();
  for (const [tag] of form.matchAll(/<(?:input|button)\b[^>]*>/g)) {
    const name = attribute(tag, 'name');
    if (name === undefined) continue;
    if (attribute(tag, 'type') === 'hidden') hidden[name] = attribute(tag, 'value') ?? '';
    else names.add(name);
  }
  return { action: attribute(form, 'action') ?? path, hidden, names };
}

/** What a browser does at a target, over one connection of the load: it keeps cookies, follows redirects and fills forms in. */
export class Visit {
  readonly #cookies = new Map<string, string>();
  /** What the application was given last. */
  code = '';

  constructor(
    readonly connection: Connection,
    readonly target: Target,
    cookie = '',
  ) {
    for (const [, name = '', value = ''] of cookie.matchAll(/([^=; ]+)=([^;]*)/g)) this.#cookies.set(name, value);
  }

  /** What it keeps, for another visit. */
  cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  #headers(): Record<string, string> {
    const cookie = this.cookie();
    return { Host: `localhost:${this.target.port}`, Accept: 'text/html', ...(cookie !== '' && { Cookie: cookie }) };
  }

  async #sent(text: string): Promise<Reply> {
    const reply = await this.connection.send(text);
    for (const [, name = '', value = ''] of reply.head.matchAll(/\r\nset-cookie: ([^=]+)=([^;\r]*)/gi)) {
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return reply;
  }

  /** Follows redirects of the target. @returns the page at their end, or null when the application has been given its code */
  async open(path: string): Promise<Page | null> {
    return this.#follow(path, await this.#sent(requestText('GET', path, this.#headers())));
  }

  async #follow(path: string, reply: Reply): Promise<Page | null> {
    const location = /\r\nlocation: (\S+)/i.exec(reply.head)?.[1];
    if (reply.status === 200) return { path, html: reply.body };
    if (location === undefined) throw new Error(`${path} answered ${reply.head}\n${reply.body.slice(0, 300)}`);
    if (location.startsWith(this.target.redirect_uri)) {
      this.code = new URL(location).searchParams.get('code') ?? '';
      if (this.code === '') throw new Error(`no code: ${location}`);
      return null;
    }
    const { pathname, search } = new URL(location, `http://localhost:${this.target.port}`);
    return this.open(pathname + search);
  }

  /** Posts the form of the page with what of `fields` it asks for. */
  async submit(page: Page, fields: Readonly<Record<string, string>>): Promise<Page | null> {
    const { action, hidden, names } = formOf(page);
    const { pathname, search } = new URL(action, `http://localhost:${this.target.port}`);
    const filled = Object.fromEntries(Object.entries(fields).filter(([name]) => names.has(name)));
    const headers = { ...this.#headers(), Origin: `http://localhost:${this.target.port}` };
    const path = pathname + search;
    return this.#follow(path, await this.#sent(requestText('POST', path, headers, { ...hidden, ...filled })));
  }
}
