import { readGuideFiles } from '../../../../management/reference/guide-files.js';
import { terms } from '../../../parts/words.js';
import { once } from '../../../../lib/memo.js';

/** A piece of a guide that is copied: a file, settings, commands. */
export type Snippet = { readonly title: string; readonly code: string };

/** What a guide of `docs/guides` says about a client: what it has to be here, and what goes there. */
export type ClientGuide = {
  readonly name: string;
  readonly title: string;
  readonly application_type: string;
  /** What the guide's client has beyond the defaults, as far as it decides what the application is told. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly redirect_uris: readonly string[];
  /** What the guide's API needs as `typ` of its tokens, where that isn't the default. */
  readonly token_typ: string | null;
  readonly snippets: readonly Snippet[];
};

type Document = { readonly data?: { readonly type?: string; readonly attributes?: Readonly<Record<string, unknown>> } };

/** Settings of a client that a guide may ask for. */
const telling = ['id_token_claims', 'claim_mappings', 'grant_types'];

const fence = /(?:<!-- file: (\S+) -->\n\n)?^```(\w+)\n([\s\S]*?)^```$/gm;
const isDocument = (path: string) => /(?:client|api_resource)\.json$|start\.sh$/.test(path);

/** What is shown of a guide as ready to copy: commands first, then the rest in its order; files go by the path that they have in the application. */
function snippetsOf(markdown: string): Snippet[] {
  const there = markdown.slice(Math.max(0, markdown.indexOf('\n## There')));
  const found = [...there.matchAll(fence)].filter(([, path = '']) => !isDocument(path));
  const snippets = found.map(([, path, language = '', code = '']) => {
    const file = path?.split('/').slice(3).join('/');
    return { title: file ?? (language === 'sh' ? 'Commands' : terms.settings), code: code.trimEnd() };
  });
  const isCommands = ({ title }: Snippet) => title === 'Commands';
  return [...snippets.filter(isCommands), ...snippets.filter((snippet) => !isCommands(snippet))];
}

/** What a guide says to each kind of client that it has a document of; none without one. */
function guidesOf(name: string, markdown: string): ClientGuide[] {
  const documents = [...markdown.matchAll(/^```json\n([\s\S]*?)^```$/gm)].flatMap(([, text = '']): Document[] => {
    const document = JSON.parse(text) as Document;
    return document.data ? [document] : [];
  });
  const attributesOf = (type: string) => documents.flatMap(({ data }) => (data?.type === type && data.attributes ? [data.attributes] : []));
  const ofKinds = new Map(
    attributesOf('client')
      .map((client) => [String(client['application_type']), client] as const)
      .reverse(),
  );
  const token_typ = (attributesOf('api_resource')[0]?.['token_typ'] as string | undefined) ?? null;
  return [...ofKinds].map(([application_type, client]) => ({
    name,
    title: /^# (.+)$/m.exec(markdown)?.[1] ?? name,
    application_type,
    settings: Object.fromEntries(telling.flatMap((key) => (client[key] === undefined ? [] : [[key, client[key]]]))),
    redirect_uris: (client['redirect_uris'] ?? []) as string[],
    token_typ,
    snippets: snippetsOf(markdown),
  }));
}

/** Guides that end the list, in this order. */
const last = ['own-login-pages', 'any-other-library'];
const rank = ({ name }: ClientGuide): number => last.indexOf(name);

const guides = once(() => Object.entries(readGuideFiles('guides')).flatMap(([name, markdown]) => guidesOf(name, markdown)));

/** The guides for applications of a kind, by title, those that few want last. Read once; an installation without `docs` has none. */
export const clientGuides = (application_type: string): readonly ClientGuide[] =>
  guides()
    .filter((guide) => guide.application_type === application_type)
    .sort((one, other) => rank(one) - rank(other) || one.title.localeCompare(other.title, 'en'));
