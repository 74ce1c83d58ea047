/** Gives an access token; `renew` after the one until now was refused. */
export type TokenSource = (renew?: boolean) => string | Promise<string>;

export type ClientCredentials = {
  /** Where the service is, such as `https://login.example.com`. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** What the tokens are for; the Management API unless given. */
  readonly resource?: string;
  readonly scope?: string;
  readonly fetch?: typeof globalThis.fetch;
};

/** How long before its end a token counts as over. */
const marginMs = 30_000;

const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** Tokens of a client for itself (RFC 6749 4.4): one at a time, kept until shortly before its end. Not for browsers, which keep no secret. */
export function clientCredentials(options: ClientCredentials): TokenSource {
  const { url, clientId, clientSecret, resource = `${url}/api`, scope, fetch = globalThis.fetch } = options;
  let current: Promise<{ token: string; ends: number }> | null = null;
  const request = async () => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', resource, ...(scope === undefined ? {} : { scope }) });
    const authorization = `Basic ${base64([clientId, clientSecret].map(encodeURIComponent).join(':'))}`;
    const response = await fetch(`${url}/oauth/token`, { method: 'POST', headers: { authorization }, body, redirect: 'error' });
    const answer = (await response.json()) as { access_token?: string; expires_in?: number; error?: string; error_description?: string };
    if (!response.ok || answer.access_token === undefined)
      throw new Error(`no access token: ${String(answer.error)}: ${String(answer.error_description)}`);
    return { token: answer.access_token, ends: Date.now() + 1000 * (answer.expires_in ?? 0) - marginMs };
  };
  return async (renew = false) => {
    const known = renew ? null : await current?.catch(() => null);
    if (known && known.ends > Date.now()) return known.token;
    const requested = (current = request());
    return (await requested).token;
  };
}
