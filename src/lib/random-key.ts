const keyLength = 32;
const instead = 'make one with: openssl rand -base64 32';

const distinct = (values: Iterable<unknown>) => new Set(values).size;

/** Whether the bytes are text or follow a pattern: valid UTF-8, few distinct values, or few distinct steps. Fewer than one random key in a billion is. */
function isContrived(bytes: Buffer): boolean {
  if (distinct(bytes) <= keyLength / 2) return true;
  const steps = [...bytes.subarray(1)].map((byte, index) => (byte - (bytes[index] as number) + 256) % 256);
  if (distinct(steps) <= keyLength / 2) return true;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Whether the text looks typed (words or digits that are valid base64). One random key in ten million would be refused by mistake. */
function isTyped(text: string): boolean {
  const share = (pattern: RegExp) => (text.match(pattern) ?? []).length;
  const [lower, upper, digits] = [share(/[a-z]/g), share(/[A-Z]/g), share(/\d/g)];
  return lower === 0 || upper === 0 || Math.max(lower, upper, digits) > 34 || distinct(text) < 20;
}

/**
 * What is wrong with a SECRET_KEY, in words that don't show it; null for 32 random bytes in base64, or base64url, with or without the
 * padding (RFC 4648). A passphrase is refused: everything that is sealed could be opened by whoever guesses it.
 */
export function randomKeyProblem(text: string): string | null {
  const standard = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=$/, '');
  const bytes = Buffer.from(standard, 'base64');
  if (bytes.toString('base64').replaceAll('=', '') !== standard || bytes.length !== keyLength)
    return `must be 32 random bytes in base64 (44 characters), not a passphrase; ${instead}`;
  if (isContrived(bytes) || isTyped(standard)) return `must be random; this looks like words or a pattern; ${instead}`;
  return null;
}

/**
 * What is wrong with a key that only opens what an earlier SECRET_KEY sealed; null when it may be one. Earlier releases took anything of 32
 * bytes and more: such a key is taken out of use by naming it here.
 */
export const earlierKeyProblem = (text: string): string | null =>
  Buffer.from(text, 'base64').length < keyLength ? 'must list earlier keys, at least 32 bytes in base64 each, separated by commas' : null;
