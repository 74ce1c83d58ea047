const decode = (text: string): string | null => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
};

/**
 * The client id and secret of an HTTP Basic header, each form-urldecoded (RFC 6749 2.3.1); null when the header isn't
 * Basic or can't be read. Text that isn't valid form encoding is taken as it is, as clients that skip the encoding send it.
 */
export function parseBasicCredentials(header: string): { client_id: string; client_secret: string } | null {
  const match = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header);
  if (!match?.[1]) return null;
  const text = Buffer.from(match[1], 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return null;
  const id = text.slice(0, colon);
  const secret = text.slice(colon + 1);
  return { client_id: decode(id) ?? id, client_secret: decode(secret) ?? secret };
}
