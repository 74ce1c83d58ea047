/** What spreadsheets take for the start of a formula, also behind the full-width forms that some of them fold (OWASP, CSV injection). */
const formula = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** A field of a CSV file: always quoted (RFC 4180 2.5 to 2.7), and text that a spreadsheet would run is set behind an apostrophe. */
export function csvField(value: string): string {
  const harmless = formula.test(value) ? `'${value}` : value;
  return `"${harmless.replaceAll('"', '""')}"`;
}

/** A record of a CSV file with its line end (RFC 4180 2.1). */
export const csvRecord = (fields: readonly string[]): string => `${fields.map(csvField).join(',')}\r\n`;
