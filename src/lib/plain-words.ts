/** What can't be seen: control and format characters (line breaks, zero-width ones, directions of writing) and lone surrogates. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/u;
const allInvisible = new RegExp(`${invisible.source}+`, 'gu');

/** Whether a text holds characters that nobody sees, which make a name look like another one or turn the words around it (UTS 39, UAX 9). */
export const holdsInvisible = (text: string): boolean => invisible.test(text.replace(joiners, ''));

/** Joiners that belong to scripts and emoji: they join two characters that are there. */
const joiners =
  /(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])[\u200c\u200d](?=[\p{L}\p{M}\p{Extended_Pictographic}])/gu;

const wordBegins = String.raw`(?=[\p{L}\p{N}\p{M}_\[%-])`;
const dot = new RegExp(`\\s*[.\uff0e\u3002\uff61\u2024\ufe52]+${wordBegins}`, 'gu');
const at = /\s*[@\uff20\ufe6b]+\s*/gu;
const scheme = /[:\uff1a\ufe13\ufe55](?=[^\s])|\/{2,}/gu;

/**
 * Words that no mail program makes a link of, for names and addresses that somebody else chose: `evil.example` becomes "evil dot example",
 * `a@b.c` "a at b dot c", `https://x` "https x"; on one line, without characters that nobody sees. What ends a sentence stays.
 */
export function plainWords(text: string): string {
  const seen = text.replaceAll(allInvisible, ' ');
  const unlinked = seen.replaceAll(scheme, ' ').replaceAll(at, ' at ').replaceAll(dot, ' dot ');
  return unlinked.replaceAll(/\s+/g, ' ').trim();
}
