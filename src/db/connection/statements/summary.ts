const verbs = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'WITH', 'BEGIN', 'COMMIT', 'ROLLBACK', 'SAVEPOINT', 'RELEASE', 'SET']);
const firstWord = /^\s*([a-z]+)/i;
const firstTable = /\b(?:from|into|update)\s+"?([a-z_]+)"?/i;

/**
 * What a statement is called where it is timed: its name, or of one that the query builder made the verb and the first table, such as `SELECT users`.
 * Nothing else of the text.
 */
export function statementSummaryOf(statement: unknown, text: string): string {
  const { name, summary } = (typeof statement === 'object' && statement !== null ? statement : {}) as { name?: string; summary?: string };
  const given = name ?? summary;
  if (given !== undefined) return given;
  const verb = firstWord.exec(text)?.[1]?.toUpperCase() ?? '';
  if (!verbs.has(verb)) return 'statement';
  const table = firstTable.exec(text)?.[1];
  return table === undefined ? verb : `${verb} ${table}`;
}
