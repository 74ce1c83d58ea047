import type { Connection } from '../domain/connections/connections.js';
import type { UnverifiedNotice } from '../http/pages/page-models.js';
import type { BasePage, PageConnection } from '../http/pages/pages.js';

type ConnectionName = { readonly display_name: string; readonly strategy: PageConnection['strategy'] };

/** A page that leads on to the provider by a script, and by a link without one. */
export interface LeavingPage extends BasePage {
  connection: ConnectionName;
  href: string;
}

/** What a client would get of a provider. Posts `hidden` to `action`. */
export interface ProviderAccessPage extends BasePage {
  action: string;
  hidden: Record<string, string>;
  client: { name: string };
  user: { email: string };
  unverified: UnverifiedNotice | null;
  connection: ConnectionName;
  /** The provider's, as it calls them. */
  scopes: readonly string[];
  /** Back to the client, with the refusal. */
  cancel: string;
}

/** What a login through the connection would have done. */
export interface TestResultPage extends BasePage {
  connection: ConnectionName;
  tone: 'good' | 'warning' | 'bad';
  /** One sentence. */
  verdict: string;
  /** Why, when it would be refused. */
  code: string | null;
  detail: string | null;
  mapping: { attribute: string; claim: string; value: string }[];
  /** The claims as they came, as indented JSON; empty when none came. */
  claims: string;
}

/** How a test sign-in went that belongs to the set-up of an organization, for whoever sets it up. */
export interface SetupTestPage extends BasePage {
  tone: 'good' | 'warning' | 'bad';
  text: string;
  code: string | null;
  detail: string | null;
  mapping: { attribute: string; claim: string; value: string }[];
  claims: string;
  next: string;
}

declare module '../http/pages/page-models.js' {
  interface PageModels {
    'sso/leaving': LeavingPage;
    'sso/provider-access': ProviderAccessPage;
    'sso/setup-test': SetupTestPage;
    'sso/test-result': TestResultPage;
  }
}

/** The strategy as pages know it, for the mark. */
export const strategyOfPage = (connection: Connection): PageConnection['strategy'] => connection.strategy as PageConnection['strategy'];
