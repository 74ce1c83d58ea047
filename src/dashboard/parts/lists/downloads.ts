/** The buttons that a list has for its files. */
export const downloadsOf = (path: string, ...names: readonly string[]) =>
  names.map((format) => ({ label: `Export ${format.toUpperCase()}`, path: `/dashboard/${path}/export`, query: { format } }));
