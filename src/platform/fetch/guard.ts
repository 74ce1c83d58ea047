import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Whether loopback, private (RFC 1918), unique local (RFC 4193) and carrier-grade NAT (RFC 6598) addresses may be reached. */
export type NetworkPolicy = { readonly allowPrivateNetwork: boolean };

/** Why a URL can't be a destination. */
export type UrlProblem = 'url_invalid' | 'url_scheme' | 'url_userinfo' | 'url_fragment' | 'url_port' | 'url_address';

/** Longest URL that is accepted as a destination, in characters. */
export const MAX_URL_LENGTH = 2048;

/** Cloud instance metadata services, which hand out credentials: refused even where private networks are allowed. Azure's is a public address. */
const metadataAddresses = new Set([
  '169.254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:42::42',
]);

const metadataHosts = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'instance-data',
  'instance-data.ec2.internal',
]);

const privateRanges = new Set(['loopback', 'private', 'carrierGradeNat', 'uniqueLocal']);

/** Ports of well-known services that aren't HTTP: the WHATWG Fetch "bad ports", and databases, caches and brokers. */
const otherServices = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117,
  119, 123, 135, 137, 138, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587,
  601, 636, 873, 989, 990, 993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5672, 6000, 6379,
  6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042, 10080, 11211, 27017,
]);

/** The host as names are compared: without brackets, without the root's trailing dot, lower case. */
const plainHost = (host: string) =>
  host
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();

const globalIpv6 = ipaddr.IPv6.parse('2000::');

/**
 * Whether a socket may be opened to an address (textual IPv4 or IPv6). Only globally reachable unicast addresses pass; forms that
 * carry an IPv4 address inside (mapped, compatible, 6to4, NAT64, Teredo) don't, since what they
 * lead to depends on the network.
 */
export function isAllowedAddress(address: string, policy: NetworkPolicy): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  // `::127.0.0.1` is read as a mapped address by ipaddr.js; the URL parser writes it as what it is.
  const parsed = ipaddr.parse(address.includes(':') ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address);
  if (metadataAddresses.has(parsed.toString())) return false;
  const range = parsed.range();
  if (privateRanges.has(range)) return policy.allowPrivateNetwork;
  if (parsed instanceof ipaddr.IPv6) {
    if (range === 'ipv4Mapped') return policy.allowPrivateNetwork && isAllowedAddress(parsed.toIPv4Address().toString(), policy);
    return range === 'unicast' && parsed.match(globalIpv6, 3);
  }
  return range === 'unicast';
}

/** Whether a URL's host is allowed: a literal address by `isAllowedAddress`; a name unless it is one of this machine or of a metadata service. */
export function isAllowedHost(host: string, policy: NetworkPolicy): boolean {
  const plain = plainHost(host);
  if (isIP(plain) !== 0) return isAllowedAddress(plain, policy);
  if (plain === '' || metadataHosts.has(plain)) return false;
  return policy.allowPrivateNetwork || !/(^|\.)localhost$/.test(plain);
}

/**
 * Why requests to the URL are refused, as far as the URL alone tells; null when they aren't. The URL standard's parser
 * has already turned every spelling of an IPv4 address (decimal, octal, hexadecimal, short) into the plain one. What a name resolves
 * to is judged when the connection is made. `http:` needs `allowPrivateNetwork` or `allowHttp`.
 */
export function checkUrl(url: string | URL, policy: NetworkPolicy & { readonly allowHttp?: boolean }): UrlProblem | null {
  const text = String(url);
  // The parser drops tabs and line ends and turns a backslash into a slash, so such a text is read differently by other parsers.
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (text.length > MAX_URL_LENGTH || /[\u0000-\u0020\u007f\\]/.test(text) || !URL.canParse(text)) return 'url_invalid';
  const parsed = new URL(text);
  const httpAllowed = policy.allowPrivateNetwork || policy.allowHttp === true;
  if (parsed.protocol !== 'https:' && !(parsed.protocol === 'http:' && httpAllowed)) return 'url_scheme';
  // An authority must follow the scheme as written: `https:/x` and `https:x` parse, but mean nothing.
  if (!/^https?:\/\/[^/]/i.test(text)) return 'url_invalid';
  if (parsed.username !== '' || parsed.password !== '' || /^https?:\/\/[^/?#]*@/i.test(text)) return 'url_userinfo';
  if (text.includes('#')) return 'url_fragment';
  if (otherServices.has(Number(parsed.port || (parsed.protocol === 'https:' ? 443 : 80)))) return 'url_port';
  return isAllowedHost(parsed.hostname, policy) ? null : 'url_address';
}
