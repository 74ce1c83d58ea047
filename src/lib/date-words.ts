const dateFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
const timeFormat = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' });

/** `21 November 2026` for an ISO 8601 time, in UTC. */
export function dateWords(iso: string): string {
  return dateFormat.format(new Date(iso));
}

/** `21 November 2026 at 09:05 UTC` for an ISO 8601 time. */
export function dateTimeWords(iso: string): string {
  const at = new Date(iso);
  return `${dateFormat.format(at)} at ${timeFormat.format(at)} UTC`;
}
