import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import { SamlRefusal } from '../domain/saml/saml-refusal.js';
import type { Parameters } from '../lib/parameters.js';

const maxBytes = 65_536;
const deflate = 'urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE';

const inflated = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflateRaw);

function bytesOf(base64: string): Buffer {
  const text = base64.replaceAll(/[\t\n\r ]+/g, '');
  if (text.length > Math.ceil(maxBytes / 3) * 4) throw new SamlRefusal('size', 'SAMLRequest is longer than 64 KiB');
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) throw new SamlRefusal('encoding', 'SAMLRequest is not Base64');
  return Buffer.from(text, 'base64');
}

/**
 * The XML of a request as it was sent: deflated by HTTP-Redirect (SAML Bindings 3.4.4.1), as it is by HTTP-POST (3.5.4).
 * @throws {SamlRefusal} `size`, `encoding`
 */
export async function decodeRequest(sent: Parameters, binding: 'redirect' | 'post'): Promise<string> {
  const bytes = bytesOf(sent.get('SAMLRequest') ?? '');
  if (![undefined, deflate].includes(sent.get('SAMLEncoding'))) throw new SamlRefusal('encoding', 'SAMLEncoding is another than DEFLATE');
  let xml = bytes;
  if (binding === 'redirect')
    try {
      xml = await inflated(bytes, { maxOutputLength: maxBytes });
    } catch (error) {
      const isTooLong = (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE';
      throw isTooLong
        ? new SamlRefusal('size', 'SAMLRequest inflates to more than 64 KiB')
        : new SamlRefusal('encoding', 'SAMLRequest is not deflated');
    }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(xml);
  } catch {
    throw new SamlRefusal('encoding', 'SAMLRequest is not UTF-8');
  }
}
