/** Texts of a length by which patterns, parsers and loops are led astray. */
export const hostileTexts: Readonly<Record<string, (length: number) => string>> = {
  'runs of spaces': (length) => `x${' '.repeat(Math.max(0, length - 2))}x`,
  'one word': (length) => 'a'.repeat(length),
  'nested markup': (length) => '<!--[if a]>{{#a}}<p a{(['.repeat(Math.ceil(length / 24)).slice(0, length),
  separators: (length) => 'https://a,=.: '.repeat(Math.ceil(length / 14)).slice(0, length),
  unicode: (length) => 'a\u0301\u200d\u{1f468}'.repeat(Math.ceil(length / 5)).slice(0, length).toWellFormed(), // prettier-ignore
};

const filled = (bytes: number, one: (index: number) => string): string => {
  const parts: string[] = [];
  for (let [index, size] = [0, 0]; size < bytes; index += 1) {
    const part = one(index);
    parts.push(part);
    size += part.length + 1;
  }
  return parts.join();
};

/** JSON values of some bytes in the place of an attribute, as text: what no schema wants. */
export const hostileValues: Readonly<Record<string, (bytes: number) => string>> = {
  'many members': (bytes) => `{${filled(bytes, (index) => `"k${index}":1`)}}`,
  deep: (bytes) => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
  'deep as far as it may be': (bytes) => `[${filled(bytes, () => `${'['.repeat(24)}${']'.repeat(24)}`)}]`,
  'many items': (bytes) => `[${filled(bytes, () => '0')}]`,
  'many texts': (bytes) => `[${filled(bytes, (index) => `"t${index}"`)}]`,
  'many objects': (bytes) => `[${filled(bytes, (index) => `{"a":${index},"type":"user","id":"x"}`)}]`,
  'a long text': (bytes) => JSON.stringify(' '.repeat(bytes)),
  'a long word': (bytes) => JSON.stringify('a'.repeat(bytes)),
};

/** Members of an object, as text, that stand beside those that are known. */
export const hostileMembers: Readonly<Record<string, (bytes: number) => string>> = {
  'unknown names': (bytes) => filled(bytes, (index) => `"unknown_${index}":1`),
  'one name again': (bytes) => filled(bytes, () => '"name":"x"'),
};

export const hostileForms: Readonly<Record<string, (bytes: number) => string>> = {
  'many fields': (bytes) => filled(bytes, (index) => `k${index}=1`).replaceAll(',', '&'),
  'one field again': (bytes) => filled(bytes, () => 'name=x').replaceAll(',', '&'),
};
