import type { Token, Tokens } from 'marked';
import { catalogue, eventTypes } from '../../domain/events/catalogue.js';
import type { Environment } from '../../domain/environment.js';
import { createOpenApi, onceForEach } from '../openapi/document.js';
import type { ResourceRegistry } from '../resource.js';
import { anchorOf, localized, readGuide, readGuides, type Guides, type ReadGuide } from './guides.js';
import { referenceModel } from './model.js';
import type { ReferencePage } from './page-models.js';
import { search, type Entry, type Findings } from './search.js';
import { named, own } from '../../lib/named.js';
import { ofEach, once } from '../../lib/memo.js';

type Reference = Pick<ReferencePage, 'base_url' | 'introduction' | 'sections'>;

/** The documentation of an environment, with its own addresses. */
export type Library = { readonly guides: Guides; readonly reference: Reference; search(query: string): Findings };

const entities: Readonly<Record<string, string>> = named({ '&quot;': '"', '&#39;': "'", '&lt;': '<', '&gt;': '>', '&amp;': '&' });
const decoded = (text: string) => text.replaceAll(/&(?:quot|#39|lt|gt|amp);/g, (entity) => entities[entity] ?? entity);

const inlineText = (tokens: readonly Token[]): string =>
  tokens
    .map((token) => {
      const { tokens: inner, text = '' } = token as { tokens?: Token[]; text?: string };
      return token.type === 'html' ? '' : token.type === 'br' ? ' ' : inner ? inlineText(inner) : decoded(text);
    })
    .join('');

function plainText(tokens: readonly Token[]): string {
  const texts = tokens.map((token): string => {
    if (token.type === 'html') return '';
    if (token.type === 'code') return (token as Tokens.Code).text;
    if (token.type === 'table') {
      const { header, rows } = token as Tokens.Table;
      const lines = [header, ...rows].map((cells) =>
        cells
          .map((cell) => inlineText(cell.tokens))
          .filter(Boolean)
          .join(' · '),
      );
      return lines.filter(Boolean).join('; ');
    }
    if (token.type === 'list') return (token as Tokens.List).items.map((item) => plainText(item.tokens)).join(' ');
    if (token.type === 'blockquote') return plainText((token as Tokens.Blockquote).tokens);
    return inlineText([token]);
  });
  return texts.join(' ').replaceAll(/\s+/g, ' ').trim();
}

/** A guide's sections: what stands above the first heading, then heading by heading. */
function sectionsOf({ guide, blocks }: ReadGuide): Entry[] {
  const starts = blocks.flatMap((block, index) => (block.type === 'heading' ? [index] : []));
  const first: Entry = {
    kind: 'guide',
    title: guide.title,
    section: 'Guide',
    path: `/docs/${guide.name}`,
    text: plainText(blocks.slice(0, starts[0] ?? blocks.length)),
  };
  const rest = starts.map((start, index): Entry => {
    const heading = blocks[start] as Tokens.Heading;
    const title = inlineText(heading.tokens);
    const event = own(catalogue, title);
    const text = plainText(blocks.slice(start + 1, starts[index + 1] ?? blocks.length));
    return {
      kind: event ? 'event type' : 'guide',
      title,
      section: guide.title,
      path: `/docs/${guide.name}#${anchorOf(heading.text)}`,
      text: event ? `${event.description} ${text}` : text,
    };
  });
  return [first, ...rest];
}

const collectionPath = (collection: string) => `/docs/api/${collection}`;

const referenceEntries = ({ sections }: Reference): Entry[] =>
  sections.flatMap((section): Entry[] => [
    { kind: 'collection', title: section.id, section: 'Reference', path: collectionPath(section.id), text: section.description },
    ...section.attributes.map(({ name, type, description }): Entry => ({
      kind: 'attribute',
      title: name,
      section: section.id,
      path: `${collectionPath(section.id)}#attribute-${name}`,
      text: `${type}. ${description}`,
    })),
    ...section.operations.map((operation): Entry => ({
      kind: 'operation',
      title: `${operation.method} ${operation.path}`,
      section: section.id,
      path: `${collectionPath(section.id)}#${operation.id}`,
      text: [
        `${operation.summary}.`,
        `Needs ${operation.permissions.join(' and ')}.`,
        ...operation.parameters.map(({ name, description }) => `${name}: ${description}`),
      ].join(' '),
    })),
  ]);

/** Installations without the guides still have the event types. */
function missingEvents(found: readonly Entry[]): Entry[] {
  const known = new Set(found.filter(({ kind }) => kind === 'event type').map(({ title }) => title));
  return eventTypes
    .filter((name) => !known.has(name))
    .map((name) => ({
      kind: 'event type',
      title: name,
      section: 'Events',
      path: collectionPath('event_types'),
      text: catalogue[name].description,
    }));
}

/** Answers the documentation as an environment shows it. All guides are read once: for an environment there is little left to do, however many there are. */
export function createLibrary(registry: ResourceRegistry): (environment: Environment) => Library {
  const openApi = createOpenApi(registry);
  const shared = once(() => {
    const guides = readGuides();
    return { guides, sections: guides.all.flatMap(sectionsOf) };
  });
  return onceForEach((environment: Environment): Library => {
    const { guides, sections } = shared();
    const local = ofEach(({ guide }: ReadGuide) => readGuide(guide.file, environment));
    const find = (name: string) => {
      const found = guides.find(name);
      return found && local(found);
    };
    const reference = referenceModel(openApi(environment));
    const texts = sections.map((entry) => ({
      ...entry,
      title: localized(entry.title, environment),
      text: localized(entry.text, environment),
    }));
    const entries = [...texts, ...referenceEntries(reference)];
    const all = [...entries, ...missingEvents(entries)];
    return { guides: { ...guides, find }, reference, search: (query) => search(all, query) };
  });
}
