/** A JSON object whose members nobody has checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The value itself where it is a JSON object; null for a list, for null and for everything else. */
export const jsonObject = (value: unknown): JsonObject | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;

/** Whether everything in the value can be stored as text: no NUL, no lone surrogate, no number beyond what JSON can say, no member `__proto__`, bounded depth. */
export function isStorable(value: unknown, maxDepth: number): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (maxDepth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isStorable(item, maxDepth - 1));
  return Object.entries(value).every(([key, item]) => key !== '__proto__' && isStorable(key, 0) && isStorable(item, maxDepth - 1));
}

/** What can be stored as JSON, of a depth that this process can write; null for anything else: what is nested some thousand times is read, and not written. */
export const jsonText = (value: unknown): string | null => (isStorable(value, 32) ? JSON.stringify(value) : null);
