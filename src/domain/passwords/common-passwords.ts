import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../lib/package-root.js';
import { once } from '../../lib/memo.js';

const listFile = join(packageRoot, 'data', 'common-passwords.txt');

/** The bundled list, read at the first question: 21,640 leaked passwords of at least eight characters, lower case (data/README.md). */
const list = once(() => new Set(readFileSync(listFile, 'utf8').split('\n').filter(Boolean)));

/** One character over and over, or a short run of them (`aaaaaaaa`, `abcabcabc`). */
function repeats(text: string): boolean {
  const half = Math.min(3, Math.floor(text.length / 2));
  for (let period = 1; period <= half; period++) {
    if (
      text ===
      text
        .slice(0, period)
        .repeat(Math.ceil(text.length / period))
        .slice(0, text.length)
    )
      return true;
  }
  return false;
}

/** Neighbouring characters all one step apart in the same direction (`abcdefgh`, `87654321`). */
function isSequence(text: string): boolean {
  const steps = new Set<number>();
  for (let i = 1; i < text.length; i++) steps.add(text.charCodeAt(i) - text.charCodeAt(i - 1));
  return steps.size === 1 && (steps.has(1) || steps.has(-1));
}

/**
 * Whether a password is among the first that a guesser tries: in the bundled list of leaked passwords (whatever the case, and
 * also with punctuation put around it, as in `Password1!!`), one short run repeated, or a plain sequence
 * (NIST SP 800-63B section 3.1.1.2).
 */
export function isCommonPassword(password: string): boolean {
  const folded = password.normalize('NFKC').toLowerCase();
  const core = folded.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '');
  return list().has(folded) || list().has(core) || repeats(folded) || isSequence(folded);
}
