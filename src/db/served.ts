/** SQL for work on all environments together: whether the one that the column names is not held (specification 24.2.2). Asked once for a statement. */
export const servedSql = (column: string): string => `${column} <> all ((select held_environments())::uuid[])`;
