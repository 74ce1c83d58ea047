/** Invisible characters: control and format characters (line breaks, zero-width, bidirectional controls) and lone surrogates. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/u;
const allInvisible = new RegExp(`${invisible.source}+`, 'gu');

/** Whether a text contains invisible characters, which make one name look like another or reorder the text around it (UTS 39, UAX 9). */
export const holdsInvisible = (text: string): boolean => invisible.test(text.replace(joiners, ''));

/** More marks on a character than any language has: they are drawn over the lines around it. */
const stack = /([\p{Mn}\p{Me}]{6})[\p{Mn}\p{Me}]+/gu;

export const holdsStack = (text: string): boolean => text.search(stack) !== -1;

/** A name that a stranger chose, as text for a page: one line without invisible characters or stacks of marks, of at most so many. */
export function strangersName(name: string, most: number): string {
  const seen = [...name.replaceAll(allInvisible, ' ').replaceAll(stack, '$1').replaceAll(/\s+/g, ' ').trim()];
  return seen.length > most ? `${seen.slice(0, most - 1).join('')}…` : seen.join('');
}

/** Joiners that belong to scripts and emoji: they join two characters that are there. */
const joiners =
  /(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])[\u200c\u200d](?=[\p{L}\p{M}\p{Extended_Pictographic}])/gu;

const wordBegins = String.raw`(?=[\p{L}\p{N}\p{M}_\[%-])`;
const dots = '[.\uff0e\u3002\uff61\u2024\ufe52]';
/** From the first of a run on: looked at from each of them anew, a run that begins no word would take the square of its length. */
const dot = new RegExp(`(?: |(?<!${dots}))${dots}+${wordBegins}`, 'gu');
const at = / ?[@\uff20\ufe6b]+ ?/gu;
const scheme = /[:\uff1a\ufe13\ufe55](?=[^\s])|\/{2,}/gu;

/**
 * Text that no mail program turns into a link, for names and addresses that come from users: `evil.example` becomes "evil dot example",
 * `a@b.c` "a at b dot c", `https://x` "https x"; on one line, without invisible characters. Punctuation at the end of a sentence stays.
 */
export function plainWords(text: string): string {
  const seen = text.replaceAll(allInvisible, ' ').replaceAll(/\s+/g, ' ');
  const unlinked = seen.replaceAll(scheme, ' ').replaceAll(at, ' at ').replaceAll(dot, ' dot ');
  return unlinked.replaceAll(/\s+/g, ' ').trim();
}
