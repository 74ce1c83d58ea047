import ejs from 'ejs';
import type { Variables } from './variables.js';

/** Text as HTML; its tags (`{{name}}`) stay as they are. */
const escaped = (text: string): string => ejs.escapeXML(text);

const onlySections = /^(?:\{\{\s*[#^/]\s*\w+\s*\}\}\s*)+$/;
const sectionTag = /\{\{\s*(?<sign>[#^/])\s*(?<name>\w+)\s*\}\}/g;
const onlyVariable = /^\{\{\s*(?<name>\w+)\s*\}\}$/;
/** Without variables: a link is one of them, or none. */
const onlyAddress = /^https:\/\/[^\s<>"'{}]+$/;

const codeStyle =
  'margin:0 0 16px;padding:16px;background:#f3f4f7;border-radius:8px;font:600 28px/1.25 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:0.15em;text-align:center';

const nameIn = (line: string): string | undefined => onlyVariable.exec(line.trim())?.groups?.['name'];

function lineOf(line: string, variables: Variables): string {
  const name = nameIn(line);
  if (name !== undefined && variables[name]?.kind === 'address') return `<a href="{{${name}}}">{{${name}}}</a>`;
  return onlyAddress.test(line.trim()) ? `<a href="${escaped(line.trim())}">${escaped(line.trim())}</a>` : escaped(line);
}

function paragraphOf(lines: readonly string[], variables: Variables, inList: boolean): string {
  const name = lines.length === 1 ? nameIn(lines[0] as string) : undefined;
  if (name !== undefined && variables[name]?.kind === 'code') return `<p class="code" style="${codeStyle}">{{${name}}}</p>`;
  const content = lines.map((line) => lineOf(line, variables)).join('<br>\n');
  return inList ? `<p style="margin:0 0 4px;padding-left:16px">${content}</p>` : `<p>${content}</p>`;
}

/**
 * The HTML template that has the same words as a text template: a paragraph for each, the code as what it is, and links of lines that are nothing else
 * than an address. Lines of section tags stand between paragraphs.
 */
export function htmlOfText(text: string, variables: Variables): string {
  const out: string[] = [];
  const sections: string[] = [];
  let lines: string[] = [];
  const end = () => {
    const inList = sections.some((name) => variables[name]?.kind === 'list');
    if (lines.length > 0) out.push(paragraphOf(lines, variables, inList));
    lines = [];
  };
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '') {
      end();
    } else if (onlySections.test(line.trim())) {
      end();
      out.push(line.trim());
      for (const { groups } of line.matchAll(sectionTag)) {
        if (groups?.['sign'] === '/') sections.pop();
        else sections.push(groups?.['name'] ?? '');
      }
    } else {
      lines.push(line);
    }
  }
  end();
  return `${out.join('\n')}\n`;
}
