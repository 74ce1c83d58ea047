import type { Knex } from 'knex';

/** Secrets of one run, by what they are; each is unique, so that finding one anywhere means that it leaked. */
export class Canaries {
  readonly values = new Map<string, string>();

  /** Remembers a secret and gives it back. */
  keep(name: string, value: unknown): string {
    if (typeof value !== 'string' || value.length < 6) throw new Error(`no value for ${name}: ${String(value)}`);
    this.values.set(name, value);
    return value;
  }

  /** The names of those that the text holds: as they are, as a JSON text or an address writes them, and as bytes in hex or base64. */
  foundIn(text: string): string[] {
    return [...this.values].filter(([, value]) => shapesOf(value).some((shape) => shape.test(text))).map(([name]) => name);
  }
}

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');

function shapesOf(value: string): RegExp[] {
  // Six digits occur by chance within longer numbers and ids.
  if (/^\d{6}$/.test(value)) return [new RegExp(`(?<![\\da-f.])${value}(?![\\da-f])`)];
  const bytes = Buffer.from(value);
  const written = [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value), bytes.toString('hex')];
  if (value.length >= 12) written.push(bytes.toString('base64').replace(/=+$/, '').slice(0, -1));
  return [...new Set(written)].map((text) => new RegExp(escaped(text)));
}

/** Every row of every table as text, the table's name in front; bytes are in hex. */
export async function dumpOf(knex: Knex): Promise<{ table: string; text: string }[]> {
  const tables = (await knex('pg_tables').where({ schemaname: 'public' }).orderBy('tablename').select('tablename')) as {
    tablename: string;
  }[];
  const rows: { table: string; text: string }[] = [];
  for (const { tablename } of tables) {
    const found = await knex.raw<{ rows: { text: string }[] }>('select t::text as text from ?? t', [tablename]);
    for (const { text } of found.rows) rows.push({ table: tablename, text });
  }
  return rows;
}
