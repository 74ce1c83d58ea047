/** The language tag (BCP 47) in its canonical form, also of one with the underscore that some write; null when it is none. */
export function canonicalLocale(text: string): string | null {
  try {
    return text.length > 64 ? null : (Intl.getCanonicalLocales(text.replaceAll('_', '-'))[0] ?? null);
  } catch {
    return null;
  }
}

/** The languages that serve whoever wants this one, the best first: `zh-Hant-TW`, `zh-Hant`, `zh` (RFC 4647 3.4). Empty for none, and for what is no tag. */
export function lookupRanges(locale: string | null): string[] {
  const ranges: string[] = [];
  let subtags = (locale === null ? null : canonicalLocale(locale))?.split('-') ?? [];
  while (subtags.length > 0) {
    ranges.push(subtags.join('-'));
    subtags = subtags.slice(0, -1);
    // A single letter introduces what follows, and means nothing by itself.
    if (subtags.at(-1)?.length === 1) subtags = subtags.slice(0, -1);
  }
  return ranges;
}
