import { nearestName } from '../../lib/nearest.js';
import { own } from '../../lib/named.js';
import { turns, type Turn } from '../../lib/turns.js';
import type { Problem } from '../refusal.js';
import { findCodeInLink, TooManyForms, wordsOfHtml } from './code-links.js';
import { findHtmlProblem } from './html-problems.js';
import { mailSpec, variablesOf, type MailName, type MailText } from './mails.js';
import { tagsOf, type Tag } from './mustache.js';
import type { VariableKind, Variables } from './variables.js';
import { memo } from '../../lib/memo.js';

/** The most characters of a template; Gmail cuts mails that are longer than 102 KB. */
export const templateLimits = { subject: 200, text: 20_000, html: 100_000 } as const;

const mostTags = 500;
const deepest = 4;
/** The longest tag: the search for its end reads all that follows, and begins anew at each space. */
const longestTag = 100;

type MailPart = keyof MailText;
type Found = Pick<Problem, 'code' | 'detail'>;

const invalid = (detail: string): Found => ({ code: 'invalid_template', detail });

const kinds = (tag: Tag, variables: Variables): VariableKind | undefined => own(variables, tag.name)?.kind;

const unwanted: Readonly<Record<'&' | '>' | '=' | '!', string>> = {
  '&': 'must not have {{{name}}} or {{&name}}: every value is escaped where it has to be. Write {{name}}.',
  '>': 'must not have partials ({{>name}}): a template is whole.',
  '=': 'must not change the delimiters ({{=...=}}).',
  '!': 'must not have comments ({{! ... }}).',
};

function sectionProblem({ type, name, sections }: Tag, kind: VariableKind, variables: Variables): Found | null {
  if (type === 'name') {
    if (kind === 'flag') return invalid(`must use ${name} as a section, {{#${name}}}...{{/${name}}}: it is a yes or no.`);
    return kind === 'list' ? invalid(`must use ${name} as a section, {{#${name}}}{{.}}{{/${name}}}: it is a list.`) : null;
  }
  if (!['flag', 'list', 'optional', 'message', 'mailbox'].includes(kind))
    return invalid(`needs no section for ${name}: it is always there.`);
  if (sections.includes(name)) return invalid(`has a section ${name} inside of itself.`);
  if (kind === 'list' && type === '#' && sections.some((each) => own(variables, each)?.kind === 'list'))
    return invalid(`has the list ${name} inside of another one.`);
  return sections.length >= deepest ? invalid(`has more than ${deepest} sections in each other.`) : null;
}

function tagProblem(tag: Tag, variables: Variables, part: MailPart): Found | null {
  if (tag.type === '&' || tag.type === '>' || tag.type === '=' || tag.type === '!') return invalid(unwanted[tag.type]);
  if (tag.name === '.') {
    const list = own(variables, tag.sections.at(-1) ?? '')?.kind === 'list';
    return tag.type === 'name' && list ? null : invalid('has {{.}} outside of a list.');
  }
  const kind = kinds(tag, variables);
  if (kind === undefined) {
    const nearest = nearestName(tag.name, Object.keys(variables));
    const ending = nearest === null ? '.' : `: did you mean {{${nearest}}}?`;
    return { code: 'unknown_variable', detail: `has {{${tag.name.slice(0, 60)}}}, which is no variable of this mail${ending}` };
  }
  if (part === 'subject' && (kind === 'code' || kind === 'address'))
    return invalid(`must not have {{${tag.name}}}: subjects are shown on locked screens and kept in logs.`);
  return sectionProblem(tag, kind, variables);
}

/**
 * The same tags in the same sections, with one space for all that stands between them: what reads a template does so character by character, and text
 * makes no tags. Behind a tag go the braces that may be a part of its end.
 */
function outlineOf(template: string): string {
  const [first = '', ...rest] = template.split('{{');
  const pieces = rest.map((piece) => {
    const end = piece.indexOf('}}');
    const text = end === -1 ? piece.length : end + 2 + (/^\}*/.exec(piece.slice(end + 2))?.[0].length ?? 0);
    return text < piece.length ? `${piece.slice(0, text)} ` : piece;
  });
  return [first && ' ', ...pieces].join('{{');
}

/** What the tags of a part have against them; null for nothing. */
function findTagProblem(template: string, variables: Variables, part: MailPart): Found | null {
  const tooMany = invalid(`has more than ${mostTags} tags.`);
  // A section has two. Before they are read: deep ones would be read as deep.
  if (template.split('{{').length > 2 * mostTags + 1) return tooMany;
  const open = template
    .split('{{')
    .slice(1)
    .find((rest) => !rest.slice(0, longestTag).includes('}}'));
  if (open !== undefined) return invalid(`can not be read: {{${open.slice(0, 20)} does not end within ${longestTag} characters.`);
  if (/\{\{\s*=/.test(template)) return invalid(unwanted['=']);
  let tags: Tag[];
  try {
    tags = tagsOf(outlineOf(template));
  } catch (error) {
    return invalid(`can not be read: ${(error as Error).message.slice(0, 200)}.`);
  }
  if (tags.length > mostTags) return tooMany;
  for (const tag of tags) {
    const problem = tagProblem(tag, variables, part);
    if (problem) return problem;
  }
  return null;
}

const list = (names: readonly string[]) => names.map((name) => `{{${name}}}`).join(' or ');

/** Without what it is sent for, a mail leaves people with nothing to do; in a section it would be there only sometimes. */
function findMissing(template: string, needed: readonly string[]): Found | null {
  if (needed.length === 0) return null;
  const there = tagsOf(outlineOf(template)).some(
    ({ type, name, sections }) => type === 'name' && sections.length === 0 && needed.includes(name),
  );
  return there ? null : { code: 'variable_required', detail: `must have ${list(needed)}, outside of all sections.` };
}

/** Whether people who click would tell the code to somebody else. */
function findLeak(words: string, variables: Variables): Found | null {
  let word: string | null;
  try {
    word = findCodeInLink(words, variables);
  } catch (error) {
    if (error instanceof TooManyForms)
      return invalid('has sections beside long words: put spaces, or tags such as <p>, between tags in braces and long words.');
    return invalid('writes braces as character references: write {{name}}.');
  }
  if (word === null) return null;
  return invalid(
    `has ${word}: mail programs make a link of it, which carries the code elsewhere. Put a space between the variable and what is no part of it.`,
  );
}

async function findProblem(name: MailName, part: MailPart, template: string, turn: Turn): Promise<Found | null> {
  const variables = variablesOf(name);
  const wrong = findTagProblem(template, variables, part);
  if (wrong) return wrong;
  if (part === 'subject') return null;
  const missing = findMissing(template, mailSpec(name).needed);
  if (missing) return missing;
  await turn();
  if (part === 'text') return findLeak(template, variables);
  const found = findHtmlProblem(template, variables);
  await turn();
  const leak = found ?? findLeak(wordsOfHtml(template, false), variables);
  if (leak || !template.includes('[if')) return leak;
  await turn();
  return findLeak(wordsOfHtml(template, true), variables);
}

/**
 * What speaks against a template, at most one problem for each part; parts that aren't given are not looked at. A long one is read several times, between
 * which others have their turn.
 */
export async function templateProblems(name: MailName, given: Partial<MailText>): Promise<Problem[]> {
  const problems: Problem[] = [];
  const turn = turns();
  for (const part of ['subject', 'text', 'html'] as const) {
    const template = given[part];
    if (typeof template !== 'string' || template.length > templateLimits[part]) continue;
    const found = await findProblem(name, part, template, turn);
    if (found) problems.push({ status: 422, attribute: part, ...found });
    await turn();
  }
  return problems;
}

type Stored = MailText & { readonly id: string; readonly updated_at: Date };

/** By id and time of the last change. A thousand are enough: an environment has few templates that mails go out by. */
const usable = memo(
  async (_version: string, { name, template }: { readonly name: MailName; readonly template: Stored }): Promise<boolean> =>
    (await templateProblems(name, template)).length === 0,
  1_000,
);

/**
 * Whether a stored template still fits: a later release may have taken a variable away. Looked at once, not for each mail: a long one takes as long as
 * many mails.
 */
export const isUsable = (name: MailName, template: Stored): Promise<boolean> =>
  usable(`${template.id} ${template.updated_at.getTime()}`, { name, template });
