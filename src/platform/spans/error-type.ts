/** A class or a code: letters, digits and `_ . -`, as programs name failures. */
const name = /^[\w.-]{1,64}$/;

/**
 * What an error is called in a span: SQLSTATE of the database, reason of a request that failed, code of the system, else its class. Its text is never looked
 * at: it may quote what somebody sent.
 */
export function errorTypeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'Error';
  const { sqlstate, reason, code, name: className } = error as { sqlstate?: unknown; reason?: unknown; code?: unknown; name?: unknown };
  for (const candidate of [sqlstate, reason, code, className]) {
    if (typeof candidate === 'number') return String(candidate);
    if (typeof candidate === 'string' && name.test(candidate)) return candidate;
  }
  return 'Error';
}
