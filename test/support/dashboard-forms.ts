/** What a form would send as it stands, for fields as the dashboard writes them. */
export function formValues(html: string): Record<string, string> {
  const plain = (text: string) => text.replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code))).replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'); // prettier-ignore
  const attribute = (tag: string, name: string) => plain(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '');
  const values = new Map<string, string>();
  for (const [tag] of html.matchAll(/<input\b[^>]*>/g)) {
    const chosen = /type="(?:checkbox|radio)"/.test(tag) ? /\schecked\b/.test(tag) : true;
    if (chosen) values.set(attribute(tag, 'name'), attribute(tag, 'value') || (/type="checkbox"/.test(tag) ? 'on' : ''));
  }
  for (const [, open = '', text = ''] of html.matchAll(/<textarea\b([^>]*)>([^<]*)<\/textarea>/g))
    values.set(attribute(` ${open}`, 'name'), plain(text).trim());
  for (const [, open = '', inside = ''] of html.matchAll(/<select\b([^>]*)>([\s\S]*?)<\/select>/g))
    values.set(attribute(` ${open}`, 'name'), attribute(/<option\b[^>]*\sselected\b[^>]*>/.exec(inside)?.[0] ?? '', 'value'));
  return Object.fromEntries(values);
}

/** The version that a form was opened at. */
export const versionOf = (html: string) => /name="_version" value="(\d+)"/.exec(html)?.[1] ?? '';
