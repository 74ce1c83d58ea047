import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit, type Alias, type Document, type Node } from 'yaml';
import { CliError } from '../api.js';

export type FilePosition = { readonly file: string; readonly line: number };

/** A value of a document that remembers where it stands. */
export type Located =
  | { readonly kind: 'map'; readonly at: FilePosition; readonly members: ReadonlyMap<string, Located> }
  | { readonly kind: 'list'; readonly at: FilePosition; readonly items: readonly Located[] }
  | { readonly kind: 'scalar'; readonly at: FilePosition; readonly value: string | number | boolean | null };

/** What aliases unfold to stays within these, however few lines they take (CWE-776). */
const [mostNodes, mostDepth] = [300_000, 32];

/** A value, and how many there are in it once all aliases are unfolded. */
type Measured = { readonly located: Located; readonly size: number };

type Reading = {
  readonly file: string;
  readonly lines: LineCounter;
  readonly targets: ReadonlyMap<Alias, Node>;
  /** What an anchor names is read once, and null while it is: an alias within it would never end. */
  readonly anchored: Map<Node, Measured | null>;
};

const wrong = ({ file, line }: FilePosition, detail: string) => new CliError(`${file}:${line}: ${detail}`);

/** What each alias names: the latest anchor of its name before it (YAML 1.2 7.1). */
function targetsIn(document: Document): Map<Alias, Node> {
  const [anchors, targets] = [new Map<string, Node>(), new Map<Alias, Node>()];
  visit(document, {
    Node(_key, node) {
      const target = isAlias(node) ? anchors.get(node.source) : undefined;
      if (isAlias(node) && target) targets.set(node, target);
      else if (!isAlias(node) && node.anchor) anchors.set(node.anchor, node);
    },
  });
  return targets;
}

function scalarOf(value: unknown, at: FilePosition): Located {
  if (typeof value === 'number' && !Number.isFinite(value)) throw wrong(at, 'a number has to be finite');
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return { kind: 'scalar', at, value: value as string };
  throw wrong(at, 'this is no text, number, boolean, null, list or map');
}

const positionIn = ({ file, lines }: Reading, node: Node, otherwise: FilePosition): FilePosition =>
  node.range ? { file, line: lines.linePos(node.range[0]).line } : otherwise;

function collected(at: FilePosition, members: readonly Measured[], located: Located): Measured {
  const size = members.reduce((sum, member) => sum + member.size, 1);
  if (size > mostNodes) throw wrong(at, 'the document unfolds to too much');
  return { located, size };
}

function locateContent(reading: Reading, node: Node, at: FilePosition, depth: number): Measured {
  if (isSeq(node)) {
    const items = node.items.map((item) => locate(reading, isNode(item) ? item : null, at, depth + 1));
    return collected(at, items, { kind: 'list', at, items: items.map(({ located }) => located) });
  }
  if (!isMap(node)) return { located: scalarOf(isScalar(node) ? node.value : undefined, at), size: 1 };
  const members = node.items.map(({ key, value }): [string, Measured] => {
    if (!isScalar(key)) throw wrong(at, 'the name of a member has to be a text');
    const position = positionIn(reading, key, at);
    const found = locate(reading, isNode(value) ? value : null, position, depth + 1);
    return [String(key.value), found.located.kind === 'scalar' ? { ...found, located: { ...found.located, at: position } } : found];
  });
  const named = new Map(members.map(([name, { located }]) => [name, located]));
  // 1 and "1" are two to YAML and one to JSON.
  if (named.size < members.length) throw wrong(at, 'a member appears here twice');
  return collected(at, members.map(([, member]) => member), { kind: 'map', at, members: named }); // prettier-ignore
}

function locate(reading: Reading, node: Node | null, above: FilePosition, depth = 0): Measured {
  if (depth > mostDepth) throw wrong(above, 'this is nested too deeply');
  if (node === null) return { located: { kind: 'scalar', at: above, value: null }, size: 1 };
  const at = positionIn(reading, node, above);
  if (isAlias(node)) {
    const known = reading.anchored.get(reading.targets.get(node) as Node);
    if (!known) throw wrong(at, `*${node.source} names what it stands in, or nothing`);
    return known;
  }
  if (!node.anchor) return locateContent(reading, node, at, depth);
  reading.anchored.set(node, null);
  const found = locateContent(reading, node, at, depth);
  reading.anchored.set(node, found);
  return found;
}

/** Lines that begin deeper than any document of ours: the reader makes an expression as long as the indentation, and the process ends with it. */
const tooDeep = /^[ \t\-?:]{500}/m;

/** The document that a text of YAML 1.2, or JSON, holds. Tags of one's own and repeated members are refused. @throws {CliError} naming the line */
export function parseLocated(text: string, file: string): Located {
  const deep = tooDeep.exec(text);
  if (deep) throw wrong({ file, line: text.slice(0, deep.index).split('\n').length }, 'this is nested too deeply');
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
  const reading = { file, lines, targets: targetsIn(document), anchored: new Map() };
  return locate(reading, document.contents, { file, line: 1 }).located;
}

/** The value without its positions. */
export function plainOf(located: Located): unknown {
  if (located.kind === 'scalar') return located.value;
  if (located.kind === 'list') return located.items.map(plainOf);
  return Object.fromEntries([...located.members].map(([name, member]) => [name, plainOf(member)]));
}

const unescaped = (token: string) => token.replaceAll('~1', '/').replaceAll('~0', '~');

/** Where the value of a JSON Pointer (RFC 6901) stands, or the innermost that is there of what it leads through. */
export function positionOfPointer(root: Located, pointer: string): FilePosition {
  let current = root;
  for (const token of pointer.split('/').slice(1).map(unescaped)) {
    const next = current.kind === 'map' ? current.members.get(token) : current.kind === 'list' ? current.items[Number(token)] : undefined;
    if (!next) break;
    current = next;
  }
  return current.at;
}
