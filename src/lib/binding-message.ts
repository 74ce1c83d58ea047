import { holdsInvisible, holdsStack } from './plain-words.js';

const most = 100;
/** What somebody could take for an address to go to: a scheme, a host, an IP address, `user@host`. Amounts such as 49.90 are none. */
const address =
  /:\/\/|\/\/\S|\b(?:https?|mailto|javascript|data|tel):|\bwww\.|[\p{L}\p{N}]@[\p{L}\p{N}]|(?:\d{1,3}\.){3}\d|[\p{L}\p{N}-]\.\p{L}[\p{L}\p{M}-]/iu;
/** The dots that browsers read as one in a host (UTS 46). */
const dots = /[\u3002\uff0e\uff61\u2024\ufe52]/gu;

/**
 * Whether the text is one that people may be shown in a client's name (CIBA Core 1.0 7.1): 1 to 100 characters of any script on one line, nothing invisible,
 * no writing direction of its own, no address.
 */
export function isBindingMessage(text: string): boolean {
  const characters = [...text].length;
  if (text.trim() === '' || characters > most || holdsInvisible(text) || holdsStack(text)) return false;
  return !address.test(text.replaceAll(dots, '.').normalize('NFKC'));
}
