/** At most so many characters of a text; where it goes on there is an ellipsis. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const begin = text.slice(0, most - 1);
  // Half a surrogate pair is no character.
  return `${begin.isWellFormed() ? begin : begin.slice(0, -1)}…`;
}
