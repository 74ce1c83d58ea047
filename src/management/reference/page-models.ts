import type { Token } from 'marked';
import type { BasePage } from '../../http/page-models.js';

/** A guide by its address `/docs/{name}`. */
export type Guide = { readonly name: string; readonly title: string };

/** GET /docs */
export interface ReferencePage extends BasePage {
  base_url: string;
  introduction: string[];
  guides: readonly Guide[];
  sections: {
    id: string;
    type: string;
    description: string;
    attributes: { name: string; type: string; description: string }[];
    operations: {
      id: string;
      method: string;
      path: string;
      summary: string;
      permissions: string[];
      parameters: { name: string; place: string; description: string }[];
      statuses: string[];
      curl: string;
    }[];
  }[];
}

/** GET /docs/{guide}: Markdown as tokens, so that the view escapes every text. */
export interface GuidePage extends BasePage {
  guides: readonly Guide[];
  name: string;
  blocks: readonly Token[];
  /** The address that a link may lead to, or null when it is shown as text. */
  address: (href: string) => string | null;
  anchor: (text: string) => string;
}

declare module '../../http/page-models.js' {
  interface PageModels {
    'docs/reference': ReferencePage;
    'docs/guide': GuidePage;
  }
}
