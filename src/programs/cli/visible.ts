const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A text in which nothing moves the cursor, hides or turns what stands around it. */
export const visible = (text: string): string => text.replaceAll(hidden, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);

/** The same of lines that are ours: line breaks stay. */
export const visibleLines = (text: string): string => text.split('\n').map(visible).join('\n');

/** JSON whose texts are written so that a terminal shows them, and a parser reads what they were. */
export const visibleJson = (json: string): string =>
  json.replaceAll(hidden, (one) =>
    one === '\n' ? one : one.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  ); // prettier-ignore
