import type { FormPage, PageClient } from './form-page.js';

/** An application that the user has consented to; `scopes` in words (scope-texts.ts). `open_url`: where a sign-in to it begins (OIDC Core 4). */
export type PageApplication = PageClient & {
  client_id: string;
  logo_uri: string | null;
  scopes: string[];
  granted_at: string;
  open_url: string | null;
};

/** What was asked for beyond scopes, as a sentence in a language. */
export type PageDetailText = { text: string; lang: string; dir: 'ltr' | 'rtl' };

/** What a client asks the person elsewhere (CIBA), as long as it waits. */
export type PageApproval = {
  id: string;
  client_id: string;
  name: string;
  binding_message: string | null;
  details: PageDetailText[];
  path: string;
  requested_at: string;
  expires_at: string;
};

/** That an application acts for the person: what it may do in words, and where (`api` null: at the account itself). */
export type PageAuthorization = PageClient & {
  client_id: string;
  is_agent: boolean;
  logo_uri: string | null;
  open_url: string | null;
  access: { api: string | null; scopes: string[] }[];
  /** What it may do at accounts of the person's at providers (specification 21). */
  provider_accounts: { provider: string; scopes: string[] }[];
  details: PageDetailText[];
  /** What it asks the person just now. */
  approvals: PageApproval[];
  origin: 'person' | 'administrator' | 'employer' | 'approval';
  /** Null: it isn't. */
  blocked_by: 'person' | 'administrator' | null;
  granted_at: string;
  last_used_at: string;
};

/** Forms: POST /account/applications/{client_id}/revoke, block and unblock, and /account/applications/end_agents. */
export interface ApplicationsPage extends FormPage {
  authorizations: PageAuthorization[];
}
