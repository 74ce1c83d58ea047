import ejs from 'ejs';
import type { MessageKey } from '../../lib/languages/messages.js';
import type { Variables } from './variables.js';

/** Text as HTML; its tags (`{{name}}`) stay as they are. */
const escaped = (text: string): string => ejs.escapeXML(text);

const onlySections = /^(?:\{\{\s*[#^/]\s*\w+\s*\}\}\s*)+$/;
const sectionTag = /\{\{\s*([#^/])\s*(\w+)\s*\}\}/g;
const onlyVariable = /^\{\{\s*(?<name>\w+)\s*\}\}$/;
/** Without variables: a link is one of them, or none. */
const onlyAddress = /^https:\/\/[^\s<>"'{}]+$/;

const listStyle = 'margin:0 0 16px;padding:12px 16px;background:#f3f4f7;border-radius:8px;font-size:14px';
const buttonStyle = 'display:inline-block;padding:12px 20px;color:#ffffff;font-weight:600;text-decoration:none';
const addressStyle = 'margin:0 0 16px;font-size:13px;color:#5a606e;word-break:break-all';
const codeStyle =
  'margin:0 0 16px;padding:16px;background:#f3f4f7;border-radius:8px;font:600 28px/1.25 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:0.15em;text-align:center';

/** How the buttons look and what they say. */
export type Buttons = { readonly color: string; readonly radius: number; readonly label: (key: MessageKey) => string };

/** A link that is the only thing of its line: a button, and below it where that leads, for programs that show none. */
function buttonOf(line: string, variables: Variables, { color, radius, label }: Buttons): string | null {
  const name = nameIn(line) ?? '';
  const key = variables[name]?.button;
  if (!key) return null;
  return [
    `<p style="margin:0 0 8px"><a class="button" href="{{${name}}}" style="${buttonStyle};border-radius:${radius}px;background:${color}">${escaped(label(key))}</a></p>`,
    `<p class="quiet" style="${addressStyle}"><a dir="ltr" href="{{${name}}}" style="color:inherit">{{${name}}}</a></p>`,
  ].join('\n');
}

const nameIn = (line: string): string | undefined => onlyVariable.exec(line.trim())?.groups?.['name'];

function lineOf(line: string, variables: Variables): string {
  const name = nameIn(line);
  if (name !== undefined && variables[name]?.kind === 'address') return `<a dir="ltr" href="{{${name}}}">{{${name}}}</a>`;
  return onlyAddress.test(line.trim()) ? `<a dir="ltr" href="${escaped(line.trim())}">${escaped(line.trim())}</a>` : escaped(line);
}

function paragraphOf(lines: readonly string[], variables: Variables, inList: boolean): string {
  const name = lines.length === 1 ? nameIn(lines[0] as string) : undefined;
  if (name !== undefined && variables[name]?.kind === 'code') return `<p class="code" dir="ltr" style="${codeStyle}">{{${name}}}</p>`;
  const content = lines.map((line) => lineOf(line, variables)).join('<br>\n');
  return inList ? `<p style="margin:0"><bdi>${content}</bdi></p>` : `<p>${content}</p>`;
}

/** A section that is open: what stands around its content. */
type Section = { readonly name: string; readonly before: readonly string[]; readonly after: readonly string[] };

/** What repeats for each of a list stands in one box; there is none where the list is empty. */
function sectionOf(tag: string, sign: string | undefined, name: string, variables: Variables, open: readonly Section[]): Section {
  if (variables[name]?.kind !== 'list' || sign !== '#') return { name, before: [tag], after: [`{{/${name}}}`] };
  const flag = `has_${name}`;
  const guarded = variables[flag] !== undefined && !open.some((section) => section.name === flag);
  return {
    name,
    before: [...(guarded ? [`{{#${flag}}}`] : []), `<div class="list" style="${listStyle}">`, tag],
    after: [`{{/${name}}}`, '</div>', ...(guarded ? [`{{/${flag}}}`] : [])],
  };
}

/**
 * The HTML template that has the same words as a text template: a paragraph for each, the code as what it is, lists in a box, and links of lines that are
 * nothing else than an address. A link of ours is a button. Lines of section tags stand between paragraphs.
 */
export function htmlOfText(text: string, variables: Variables, buttons: Buttons): string {
  const out: string[] = [];
  const open: Section[] = [];
  let lines: string[] = [];
  const isInList = () => open.some(({ after }) => after.length > 1);
  const end = () => {
    if (lines.length > 0) out.push(paragraphOf(lines, variables, isInList()));
    lines = [];
  };
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '') {
      end();
    } else if (onlySections.test(line.trim())) {
      end();
      for (const [tag, sign, name = ''] of line.matchAll(sectionTag)) {
        if (sign !== '/') open.push(sectionOf(tag, sign, name, variables, open));
        out.push(...((sign === '/' ? open.pop()?.after : open.at(-1)?.before) ?? [tag]));
      }
    } else {
      const button = isInList() ? null : buttonOf(line, variables, buttons);
      if (button === null) {
        lines.push(line);
      } else {
        end();
        out.push(button);
      }
    }
  }
  end();
  return `${out.join('\n')}\n`;
}
