import { createHash, randomBytes } from 'node:crypto';

/** A browser without a screen: keeps cookies, doesn't follow redirects, sends what a browser sends with a form. */
export class Browser {
  readonly cookies = new Map<string, string>();

  constructor(
    readonly origin: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const url = new URL(path, this.origin);
    const headers = new Headers({ ...this.headers, ...(init.headers as Record<string, string> | undefined) });
    if (this.cookies.size > 0) headers.set('cookie', [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await fetch(url, { redirect: 'manual', ...init, headers });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = cookie.split('; ');
      const equals = pair.indexOf('=');
      const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)];
      if (value === '' || attributes.some((attribute) => /^Expires=Thu, 01 Jan 1970/i.test(attribute))) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.request(path, { headers });
  }

  /** Posts a form as a browser on our own page does. */
  post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
    return this.request(path, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: this.origin, ...headers },
    });
  }

  postJson(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return this.request(path, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } });
  }

  /** Opens a page, fills its (first) form's token in and posts it. */
  async submit(page: string, fields: Record<string, string>, action = new URL(page, this.origin).pathname): Promise<Response> {
    const html = await (await this.get(page)).text();
    return this.post(action, { _csrf: csrfOf(html), ...fields });
  }

  /** Signs in through the page; the answer is the redirect. */
  login(email: string, password: string, return_to = ''): Promise<Response> {
    return this.submit('/login', { email, password, return_to });
  }
}

export function csrfOf(html: string): string {
  const token = /name="_csrf" value="([^"]+)"/.exec(html)?.[1];
  if (token === undefined) throw new Error('the page has no CSRF token');
  return token;
}

/** A PKCE pair (RFC 7636). */
export function pkcePair(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

export const locationParameters = (response: Response): URLSearchParams =>
  new URL(response.headers.get('location') ?? '', 'http://none.invalid').searchParams;
