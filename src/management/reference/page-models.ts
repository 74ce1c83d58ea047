import type { Token } from 'marked';
import type { BasePage } from '../../http/pages/page-models.js';
import type { Findings } from './search.js';

/** A guide by its address `/docs/{name}`; its file as a path from `docs`. */
export type Guide = { readonly name: string; readonly file: string; readonly title: string };

/** What every page of the documentation has: the guides by heading, and what its search field holds. */
export interface DocsPage extends BasePage {
  groups: readonly { readonly title: string; readonly guides: readonly Guide[] }[];
  query: string;
}

/** GET /docs/search?q= */
export interface DocsSearchPage extends DocsPage, Findings {}

/** GET /docs */
export interface ReferencePage extends DocsPage {
  /** How a client gets its access token. */
  token: { curl: string; typescript: string; idp: string };
  base_url: string;
  introduction: string[];
  sections: {
    id: string;
    title: string;
    type: string;
    description: string;
    attributes: { name: string; type: string; description: string }[];
    operations: {
      id: string;
      method: string;
      path: string;
      summary: string;
      permissions: string[];
      parameters: { name: string; location: string; description: string }[];
      statuses: string[];
      curl: string;
      typescript: string;
      /** Null where the command line has no command for it. */
      idp: string | null;
    }[];
  }[];
}

/** GET /docs/api/{collection} */
export interface CollectionPage extends DocsPage {
  sections: ReferencePage['sections'];
  section: ReferencePage['sections'][number];
}

/** GET /docs/{guide}: Markdown as tokens, so that the view escapes every text. */
export interface GuidePage extends DocsPage {
  name: string;
  blocks: readonly Token[];
  /** The address that a link may lead to, or null when it is shown as text. */
  address: (href: string) => string | null;
  anchor: (text: string) => string;
}

declare module '../../http/pages/page-models.js' {
  interface PageModels {
    'docs/reference': ReferencePage;
    'docs/collection': CollectionPage;
    'docs/guide': GuidePage;
    'docs/search': DocsSearchPage;
  }
}
