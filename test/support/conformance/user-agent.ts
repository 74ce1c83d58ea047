import { password } from '../data.js';

/** What came back to the relying party: by a redirect, or by the form that the page submits by itself. */
export type Callback = {
  readonly kind: 'callback';
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly parameters: URLSearchParams;
};
/** A page on which the person is left. */
export type Page = { readonly kind: 'page'; readonly status: number; readonly html: string; readonly url: URL };

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#34': '"' };
const decode = (text: string) => text.replace(/&(\w+|#\d+);/g, (whole, name: string) => entities[name] ?? whole);
const attribute = (tag: string, name: string) => {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined ? null : decode(value);
};

/** The fields and the address of the form with the id; null when the page has none. */
export function formOf(html: string, id: string): { action: string; fields: Record<string, string> } | null {
  const form = new RegExp(`<form id="${id}"[^>]*>([\\s\\S]*?)</form>`).exec(html);
  if (!form) return null;
  const fields: Record<string, string> = {};
  for (const [tag] of (form[1] ?? '').matchAll(/<input[^>]*>/g)) {
    const name = attribute(tag, 'name');
    if (name !== null) fields[name] = attribute(tag, 'value') ?? '';
  }
  return { action: attribute(form[0].slice(0, form[0].indexOf('>') + 1), 'action') ?? '', fields };
}

/**
 * A person with a browser at the provider: follows redirects, signs in, allows, confirms, and stops where the relying party's addresses
 * begin (`rpOrigin`) or where there is nothing more to fill in. `seen` lists the forms that were shown.
 */
export class UserAgent {
  private readonly cookies = new Map<string, string>();
  seen: string[] = [];

  constructor(
    private readonly options: { origin: string; rpOrigin: string; email: string; fetch: typeof fetch; decision?: 'allow' | 'deny' },
  ) {}

  clearCookies(): void {
    this.cookies.clear();
  }

  async request(url: URL, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers as Record<string, string> | undefined);
    if (this.cookies.size > 0) headers.set('cookie', [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await this.options.fetch(url.href, { redirect: 'manual', ...init, headers: Object.fromEntries(headers) });
    for (const cookie of response.headers.getSetCookie()) {
      const pair = cookie.split('; ')[0] ?? '';
      const name = pair.slice(0, pair.indexOf('='));
      if (/Expires=Thu, 01 Jan 1970/i.test(cookie)) this.cookies.delete(name);
      else this.cookies.set(name, pair.slice(name.length + 1));
    }
    return response;
  }

  private post(url: URL, fields: Record<string, string>): Promise<Response> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: this.options.origin };
    return this.request(url, { method: 'POST', body: new URLSearchParams(fields).toString(), headers });
  }

  /** The address at the relying party where the person arrives. @throws where that is a page of ours */
  async follow(address: URL): Promise<URL> {
    const answer = await this.visit(address);
    if (answer.kind === 'page') throw new Error(`${answer.status} ${answer.html}`);
    return answer.url;
  }

  /** Goes to an address and acts as the person until the relying party or a dead end is reached. */
  async visit(address: string | URL, post?: Record<string, string>): Promise<Callback | Page> {
    this.seen = [];
    let url = new URL(address, this.options.origin);
    let response = post ? await this.post(url, post) : await this.request(url);
    for (let steps = 0; steps < 20; steps++) {
      const location = response.headers.get('location');
      if (location !== null) {
        url = new URL(location, url);
        if (url.origin === this.options.rpOrigin) return { kind: 'callback', method: 'GET', url, parameters: url.searchParams };
        response = await this.request(url);
        continue;
      }
      const html = await response.text();
      const next = this.fillIn(html, url);
      if (next === null) return { kind: 'page', status: response.status, html, url };
      if ('kind' in next) return next;
      url = next.url;
      response = await this.post(url, next.fields);
    }
    throw new Error(`the provider goes round in circles at ${url.pathname}`);
  }

  private fillIn(html: string, url: URL): { url: URL; fields: Record<string, string> } | Callback | null {
    const answers: Record<string, Record<string, string>> = {
      login: { email: this.options.email, password },
      consent: { decision: this.options.decision ?? 'allow' },
      logout: { decision: 'logout' },
      'form-post': {},
    };
    for (const [id, answer] of Object.entries(answers)) {
      const form = formOf(html, id);
      if (!form) continue;
      this.seen.push(id);
      const target = new URL(form.action, url);
      // The suite's browser runs no modules: without a classic script the page stays where it is.
      if (id === 'form-post' && !/<script (?![^>]*type="module")[^>]*src="[^"]*\/form-post/.test(html)) continue;
      if (id === 'form-post') return { kind: 'callback', method: 'POST', url: target, parameters: new URLSearchParams(form.fields) };
      return { url: target, fields: { ...form.fields, ...answer } };
    }
    return null;
  }
}
