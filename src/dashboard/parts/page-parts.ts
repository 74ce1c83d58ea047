import type { viewTexts } from './view-texts.js';
import type { BasePage, PageNotice } from '../../http/pages/page-models.js';
import type { FindingsPart, WellPart } from './finding-parts.js';
import type { Choice, FormPart, UploadPart } from './form-parts.js';
import type { LinkButton, TablePart, Value } from './table-parts.js';

export type * from './form-parts.js';
export type * from './table-parts.js';

/** The lines of an icon: SVG path data on 20 by 20 units. */
export type IconPaths = readonly string[];

/** `attribute`: its name in the API, for those who script it. */
export type Row = { readonly label: string; readonly value: Value; readonly attribute?: string | undefined };

/** A button that posts; without fields of its own. */
export type PostButton = {
  readonly label: string;
  readonly action: string;
  readonly variant?: 'primary' | 'quiet' | 'danger';
  readonly hidden?: Readonly<Record<string, string>>;
};

export type FilterField = {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[] | null;
  readonly kind: 'search' | 'select' | 'text';
  /** What a name may mean that was entered. */
  readonly links?: readonly LinkButton[];
};

/** A day; `before` is the sum of the day that is a whole range earlier. */
export type Bar = { readonly day: string; readonly words: string; readonly values: readonly number[]; readonly before: number };

export type ChartPart = {
  readonly kind: 'chart';
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly series: readonly { readonly label: string; readonly tone: number }[];
  /** What the line stands for; null where nothing was before. */
  readonly before: string | null;
  readonly bars: readonly Bar[];
  readonly drawing: Drawing;
};

/** An SVG as data: what the view turns into elements. */
export type Drawing = {
  readonly width: number;
  /** Where the bars begin; the figures of the axis stand before it. */
  readonly left: number;
  readonly height: number;
  readonly top: number;
  /** Where the bars stand. */
  readonly bottom: number;
  /** The width of a day. */
  readonly step: number;
  readonly days: readonly {
    readonly x: number;
    /** Its values, one a line. */
    readonly text: string;
    readonly rects: readonly {
      readonly x: number;
      readonly y: number;
      readonly width: number;
      readonly height: number;
      readonly tone: number;
    }[];
  }[];
  /** The points of the line of the days before. */
  readonly before: string | null;
  readonly lines: readonly { readonly y: number; readonly label: string }[];
  readonly labels: readonly { readonly x: number; readonly text: string; readonly anchor: string }[];
};

/** What a search found: `detail` tells two of a name apart. */
export type SearchResult = { readonly text: string; readonly detail: string | null; readonly path: string };

/** `more`: the list that has the rest. */
export type SearchResults = {
  readonly title: string;
  readonly items: readonly SearchResult[];
  readonly more: string | null;
  readonly mistake: string | null;
};

export type Part =
  | FindingsPart
  | {
      readonly kind: 'results';
      readonly groups: readonly SearchResults[];
      readonly empty: { readonly title: string; readonly text: string };
    }
  | WellPart
  /** `more`: the same with all rows, or with fewer. */
  | {
      readonly kind: 'summary';
      readonly title: string | null;
      readonly rows: readonly Row[];
      readonly more?: { readonly label: string; readonly path: string };
    }
  | {
      readonly kind: 'filters';
      readonly action: string;
      readonly fields: readonly FilterField[];
      readonly hidden: Readonly<Record<string, string>>;
      readonly clear: string | null;
      /** The names of those that aren't as on the first visit. */
      readonly changed?: readonly string[];
      /** "Filter" unless given. */
      readonly button?: string;
    }
  | TablePart
  | FormPart
  | UploadPart
  | {
      readonly kind: 'tabs';
      readonly label: string;
      readonly items: readonly { readonly label: string; readonly path: string; readonly current: boolean }[];
    }
  | {
      readonly kind: 'tiles';
      readonly title: string;
      readonly items: readonly { readonly title: string; readonly text: string; readonly path: string }[];
    }
  /** `aside` stands above, or beside where there is room. */
  | { readonly kind: 'beside'; readonly aside: readonly Part[]; readonly parts: readonly Part[] }
  | { readonly kind: 'text'; readonly title: string | null; readonly paragraphs: readonly string[] }
  /** A page of our own in a frame that can do nothing; `path` leads to it. */
  | { readonly kind: 'preview'; readonly id: string; readonly title: string; readonly path: string }
  | { readonly kind: 'code'; readonly id: string; readonly title: string; readonly text: string | null; readonly code: string }
  | {
      readonly kind: 'stats';
      readonly title: string;
      readonly items: readonly {
        readonly label: string;
        readonly figure: string;
        readonly note: string | null;
        readonly path: string | null;
      }[];
    }
  | { readonly kind: 'charts'; readonly items: readonly ChartPart[]; readonly empty: readonly string[] }
  | ChartPart
  | {
      readonly kind: 'steps';
      readonly title: string;
      readonly text: string;
      readonly steps: readonly {
        readonly title: string;
        readonly text: string;
        readonly done: boolean;
        readonly link: LinkButton | null;
      }[];
    }
  | { readonly kind: 'secret'; readonly id: string; readonly label: string; readonly secret: string; readonly text: string }
  | { readonly kind: 'notice'; readonly tone: 'good' | 'info' | 'warning' | 'bad'; readonly text: string; readonly link?: LinkButton }
  | { readonly kind: 'buttons'; readonly links: readonly LinkButton[]; readonly posts: readonly PostButton[] }
  | { readonly kind: 'dangers'; readonly items: readonly { readonly title: string; readonly text: string; readonly link: LinkButton }[] }
  | {
      readonly kind: 'attempts';
      readonly id: string;
      readonly title: string;
      readonly items: readonly { readonly title: string; readonly state: Value; readonly open: boolean; readonly parts: readonly Part[] }[];
    };

export type Navigation = readonly {
  readonly label: string | null;
  readonly items: readonly { readonly label: string; readonly path: string; readonly icon: IconPaths; readonly current: boolean }[];
}[];

export interface DashboardPage extends BasePage {
  texts: typeof viewTexts;
  csrf_token: string;
  navigation: Navigation;
  viewer: { email: string; name: string };
  shows_api_names: boolean;
  /** The page's own, to come back to. */
  address: string;
  search: string;
  /** What paper says of the page: its address, and when it was asked for, in words. */
  printed: { address: string; time: string };
  /** The document's title, the state first. */
  document_title: string;
  crumbs: readonly { label: string; path: string }[];
  lead: string | null;
  state: Value | null;
  links: readonly LinkButton[];
  posts: readonly PostButton[];
  tabs: readonly { label: string; path: string; current: boolean }[];
  notice: PageNotice | null;
  /** Sentences by field name; `form` for what belongs to no field. */
  errors: Readonly<Record<string, string>>;
  /** Labels of the fields that errors are about. */
  labels: Readonly<Record<string, string>>;
  parts: readonly Part[];
}

declare module '../../http/pages/page-models.js' {
  interface PageModels {
    'dashboard/page': DashboardPage;
  }
}
