import { svgPaints } from './svg-names.js';

/** An element as it stays; text is among its children. */
export type SvgElement = {
  readonly name: string;
  readonly attributes: Map<string, string>;
  readonly children: (SvgElement | string)[];
};

/** The text that stands directly within an element. */
export const textWithin = ({ children }: SvgElement): string => children.filter((child) => typeof child === 'string').join('');

/** How long a chain of elements may be that point at each other. */
const maxChain = 24;

/** So many elements are looked at, however often one is met: what is drawn seldom can still be long to count. */
const maxSteps = 100_000;

/** Ids that a value points at by `url(#id)`. */
const pointedAt = (value: string): string[] => [...value.matchAll(/url\(\s*["']?#([\w.:-]+)/gi)].map(([, id]) => id as string);

function walk(element: SvgElement, visit: (element: SvgElement) => void): void {
  visit(element);
  for (const child of element.children) if (typeof child !== 'string') walk(child, visit);
}

/**
 * How many elements are drawn when each one that others point at (`use`, patterns, masks, markers) is drawn as often as that: ten lines can come to a
 * billion. What points at itself is drawn by no browser, and counts as nothing.
 * @returns the number; beyond `limit`, or with too much to count or chains too long to follow, more than `limit`
 */
export function drawnElements(root: SvgElement, limit: number): number {
  const byId = new Map<string, SvgElement>();
  const styled = new Set<string>();
  walk(root, (element) => {
    const id = element.attributes.get('id');
    if (id !== undefined && !byId.has(id)) byId.set(id, element);
    if (element.name === 'style') for (const target of pointedAt(textWithin(element))) styled.add(target);
  });
  const costs = (id: string) => !svgPaints.has(byId.get(id)?.name ?? 'linearGradient');
  const drawnByStyle = [...styled].filter(costs);
  let steps = 0;
  const known = new Map<string, number>();
  const open = new Set<string>();

  function target(id: string): number {
    const element = byId.get(id);
    if (!element || svgPaints.has(element.name) || open.has(id)) return 0;
    const before = known.get(id);
    if (before !== undefined) return before;
    if (open.size >= maxChain) return limit + 1;
    open.add(id);
    const found = count(element);
    open.delete(id);
    known.set(id, found);
    return found;
  }

  function count({ name, attributes, children }: SvgElement): number {
    if (svgPaints.has(name) || name === 'style') return 1;
    const href = name === 'use' ? attributes.get('href')?.slice(1) : undefined;
    const named = [...attributes].flatMap(([attribute, value]) => (attribute === 'd' || attribute === 'points' ? [] : pointedAt(value)));
    let total = 1;
    steps += 1 + drawnByStyle.length;
    if (steps > maxSteps) return limit + 1;
    // Whose rule of a style sheet it is isn't worked out: each may be meant.
    for (const id of new Set([...(href === undefined ? [] : [href]), ...named, ...drawnByStyle])) total += target(id);
    for (const child of children) {
      if (total > limit) return limit + 1;
      if (typeof child !== 'string') total += count(child);
    }
    return Math.min(total, limit + 1);
  }

  return count(root);
}
