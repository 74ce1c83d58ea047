import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node } from 'yaml';
import { CliError } from '../api.js';

/** Where something stands: a file, and a line from 1. */
export type Place = { readonly file: string; readonly line: number };

/** A value of a document that remembers where it stands. */
export type Located =
  | { readonly kind: 'map'; readonly at: Place; readonly members: ReadonlyMap<string, Located> }
  | { readonly kind: 'list'; readonly at: Place; readonly items: readonly Located[] }
  | { readonly kind: 'scalar'; readonly at: Place; readonly value: string | number | boolean | null };

/** What aliases unfold to stays within these, however few lines they take (CWE-776). */
const [mostNodes, mostDepth] = [300_000, 32];

type Reading = { readonly document: Document; readonly lines: LineCounter; readonly file: string; nodes: number };

const wrong = ({ file, line }: Place, detail: string) => new CliError(`${file}:${line}: ${detail}`);

function scalarOf(value: unknown, at: Place): Located {
  if (typeof value === 'number' && !Number.isFinite(value)) throw wrong(at, 'a number has to be finite');
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return { kind: 'scalar', at, value: value as string };
  throw wrong(at, 'this is no text, number, boolean, null, list or map');
}

function locate(reading: Reading, node: Node | null, above: Place, depth = 0): Located {
  if (depth > mostDepth) throw wrong(above, 'this is nested too deeply');
  if (++reading.nodes > mostNodes) throw wrong(above, 'the document unfolds to too much');
  if (node === null) return { kind: 'scalar', at: above, value: null };
  const at = node.range ? { file: reading.file, line: reading.lines.linePos(node.range[0]).line } : above;
  if (isAlias(node)) return locate(reading, node.resolve(reading.document) ?? null, at, depth + 1);
  if (isSeq(node)) return { kind: 'list', at, items: node.items.map((item) => locate(reading, item as Node, at, depth + 1)) };
  if (!isMap(node)) return scalarOf(isScalar(node) ? node.value : undefined, at);
  const members = node.items.map(({ key, value }): [string, Located] => {
    if (!isScalar(key)) throw wrong(at, 'the name of a member has to be a text');
    const place = key.range ? { file: reading.file, line: reading.lines.linePos(key.range[0]).line } : at;
    const found = locate(reading, value as Node | null, place, depth + 1);
    return [String(key.value), found.kind === 'scalar' ? { ...found, at: place } : found];
  });
  return { kind: 'map', at, members: new Map(members) };
}

/** The document that a text of YAML 1.2, or JSON, holds. Tags of one's own and repeated members are refused. @throws {CliError} naming the line */
export function parseLocated(text: string, file: string): Located {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    merge: false,
    lineCounter: lines,
    logLevel: 'error',
    prettyErrors: false,
  });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) throw wrong({ file, line: lines.linePos(problem.pos[0]).line }, problem.message);
  return locate({ document, lines, file, nodes: 0 }, document.contents, { file, line: 1 });
}

/** The value without its places. */
export function plainOf(located: Located): unknown {
  if (located.kind === 'scalar') return located.value;
  if (located.kind === 'list') return located.items.map(plainOf);
  return Object.fromEntries([...located.members].map(([name, member]) => [name, plainOf(member)]));
}

const unescaped = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~');

/** Where the value of a JSON Pointer (RFC 6901) stands, or the innermost that is there of what it leads through. */
export function placeOfPointer(root: Located, pointer: string): Place {
  let current = root;
  for (const part of pointer.split('/').slice(1).map(unescaped)) {
    const next = current.kind === 'map' ? current.members.get(part) : current.kind === 'list' ? current.items[Number(part)] : undefined;
    if (!next) break;
    current = next;
  }
  return current.at;
}
