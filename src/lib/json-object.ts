/** A JSON object whose members nobody has checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The value itself where it is a JSON object; null for a list, for null and for everything else. */
export const jsonObject = (value: unknown): JsonObject | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
