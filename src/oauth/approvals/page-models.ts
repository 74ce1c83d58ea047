import type { ConsentPage, FormPage } from '../../http/pages/page-models.js';

/** Posts `decision` deny, mute or allow, and `hidden`, to `action`. */
export interface ApprovalPage extends FormPage {
  client: ConsentPage['client'];
  unverified: ConsentPage['unverified'];
  user: ConsentPage['user'];
  /** What the client says that it is about; null: nothing. */
  binding_message: string | null;
  /** What the organization is called that the tokens are for; null: for none. */
  organization: string | null;
  scopes: ConsentPage['scopes'];
  /** Approved all, or not at all. */
  details: ConsentPage['details'];
  /** Where and when the client asked, and until when it waits. */
  ip_address: string | null;
  /** ISO 8601 */
  requested_at: string;
  expires_at: string;
  action: string;
  hidden: Record<string, string>;
}

declare module '../../http/pages/page-models.js' {
  interface PageModels {
    'oauth/approval': ApprovalPage;
  }
}
