/** How the members of a list that aren't texts are written, one a line. */
export type LineSpec = {
  /** Where members are longer than a line: takes the text apart. */
  split?(text: string): readonly string[];
  show(member: unknown): string;
  /** Short enough for a row of its own, which scripts make of it. */
  readonly rows?: true;
  /** Undefined: the line can't be read. */
  read(line: string): unknown;
  /** What to say of such a line. */
  readonly wrong: string;
};
