import type { Choice } from '../page-parts.js';

/** Units of a duration, the largest first, in seconds. Months and years have no fixed length. */
const units = [
  ['days', 86_400],
  ['hours', 3600],
  ['minutes', 60],
  ['seconds', 1],
] as const;

export const durationUnits: readonly Choice[] = units.map(([name]) => ({
  value: name,
  label: name.charAt(0).toUpperCase() + name.slice(1),
}));

/** Seconds as the number and unit that a form shows; what is no number of seconds stays as it was typed. */
export function splitDuration(seconds: string): { amount: string; unit: string } {
  if (!/^\d{1,15}$/.test(seconds)) return { amount: seconds, unit: seconds === '' ? 'days' : 'seconds' };
  const value = Number(seconds);
  const [unit, size] = units.find(([, length]) => value >= length && value % length === 0) ?? ['seconds', 1];
  return { amount: String(value / size), unit };
}

/** A number and its unit, as they were sent, in seconds; what is no number stays as it is, for the refusal that is due. */
export function joinDuration(amount: string, unit: string | undefined): string {
  const size = units.find(([name]) => name === unit)?.[1];
  const trimmed = amount.trim();
  return size !== undefined && /^\d{1,9}$/.test(trimmed) ? String(Number(trimmed) * size) : trimmed;
}
