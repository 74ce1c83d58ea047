import type { StrategyName } from '../../domain/connections/strategies.js';
import type { Brand } from '../../domain/environments/branding.js';

/** What every page needs; `basePage` in pages.ts builds it. */
export interface BasePage {
  /** The h1 and, with the environment's name, the document's title. */
  title: string;
  environment: Omit<Brand, 'theme'> & { kind: 'production' | 'staging' | 'development' };
  /** Of its stylesheet with the colours, corners and font of the branding: `stylesheetPath` in brand-stylesheet.ts. */
  theme_path: string;
  request_id: string;
  /** A picture of the page: nothing on it works. */
  still?: true;
  /** Required by every page with a POST form. */
  csrf_token?: string | undefined;
}

/** A remark above the form; `good` after something worked, `info` for the rest. */
export type PageNotice = { tone: 'good' | 'info' | 'warning'; text: string };

/**
 * A page with a form. `errors` holds a sentence per field name (see error-texts.ts); the key `form` is for what belongs to no single
 * field. `values` fills the fields again.
 */
export interface FormPage extends BasePage {
  errors?: Record<string, string> | undefined;
  values?: Record<string, string | null | undefined> | undefined;
  notice?: PageNotice | null | undefined;
}

/** The application on whose behalf the person is here, while an authorization request is pending. */
export type PageClient = { name: string };

export type PageConnection = {
  id: string;
  display_name: string;
  strategy: StrategyName;
  /** Set on the one this browser used last, which the handler puts first. */
  last_used?: boolean | undefined;
};
