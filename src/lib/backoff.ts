/** Exponential backoff: the first wait is `baseMs` milliseconds, each next one `factor` times as long. */
export type Backoff = { readonly baseMs: number; readonly factor: number };

/** Jitter: each wait is up to this share shorter or longer, so that retries of simultaneous failures are spread out. */
const jitter = 0.2;

/** Whole milliseconds to wait after the given number of failures (1 and up), spread by up to 20 % to both sides. */
export const backoffMs = ({ baseMs, factor }: Backoff, failures: number, random: () => number = Math.random): number =>
  Math.round(baseMs * factor ** (failures - 1) * (1 - jitter + 2 * jitter * random()));

/** The wait that a `Retry-After` header asks for (RFC 9110 10.2.3: seconds or a date), in milliseconds; null when it says nothing usable. */
export function retryAfterMs(header: string | undefined, now: Date): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,10}$/.test(text)) return Number(text) * 1000;
  if (!/^[A-Za-z]{3,9},? /.test(text)) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime());
}
