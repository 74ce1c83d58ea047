/** Rules that ask about the window or the program alone. Others load styles or fonts, or ask how wide the text is. */
const harmlessRules = new Set(['media', 'supports', 'keyframes', '-webkit-keyframes', 'charset']);

/** Attributes that mail programs set, or that hold no variables: what is asked about them tells nothing of the mail. */
const harmlessAttribute = /^\[\s*(?:class|id|style|lang|dir|owa|x-apple-data-detectors|data-[a-z-]+)\s*[\]~|^$*=]/i;

/** What makes a style depend on an attribute, or on how much room a text takes. */
const tellingWords = /\b(?:attr|if)\(|(?:animation|scroll|view)-timeline|timeline-scope|animation-trigger/i;

/** What speaks against styles wherever they stand, as in a style attribute; null for nothing. @param where they stand, for the sentence */
export function findDeclarationProblem(css: string, where: string): string | null {
  if (css.includes('\\')) return `has a \\ in ${where}: write the character itself.`;
  const [word] = tellingWords.exec(css) ?? [];
  return word === undefined
    ? null
    : `has ${word.slice(0, 60)} in ${where}: styles that depend on what the mail holds tell it to whom they load from.`;
}

/**
 * What speaks against the content of a style element; null for nothing. Styles that load something depending on what an attribute or a text says tell it
 * to the server that they load from: a link brings a code along, and opening the mail would be enough.
 */
export function findStyleProblem(css: string): string | null {
  const problem = findDeclarationProblem(css, '<style>');
  if (problem !== null) return problem;
  const rule = [...css.matchAll(/@([\w-]*)/g)].map(([, name = '']) => name.toLowerCase()).find((name) => !harmlessRules.has(name));
  if (rule !== undefined) return `has @${rule.slice(0, 60)} in <style>: only @media, @supports and @keyframes, which load nothing.`;
  const selector = [...css.matchAll(/\[/g)].map(({ index }) => css.slice(index, index + 200)).find((one) => !harmlessAttribute.test(one));
  if (selector === undefined) return null;
  return `has ${selector.slice(0, 60).split('\n')[0]} in <style>: selectors go by class, id, style, lang, dir or data-..., since other attributes may hold a code.`;
}
