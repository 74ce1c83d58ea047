/** Client credentials of an HTTP Basic header (RFC 6749 2.3.1), form-decoded. */
export type BasicCredentials = { readonly client_id: string; readonly client_secret: string };

const decode = (text: string): string => {
  if (!/[%+]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};

/**
 * The client id and secret of an HTTP Basic header, each form-urldecoded (RFC 6749 2.3.1); null when the header isn't
 * Basic or can't be read. Text that isn't valid form encoding is taken as it is, as clients that skip the encoding send it.
 */
export function parseBasicCredentials(header: string): BasicCredentials | null {
  const match = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header);
  if (!match?.[1]) return null;
  const text = Buffer.from(match[1], 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return null;
  return { client_id: decode(text.slice(0, colon)), client_secret: decode(text.slice(colon + 1)) };
}
