import type { FormPage, PageClient } from './form-page.js';

/** Whose invitation it is, and what the person can do: `asked`. Posts nothing to `path`, or to `{path}/register`. */
export interface PageInvitation extends FormPage {
  path: string;
  asked: 'accept' | 'register' | 'sign_in' | 'other_account' | 'unverified';
  organization: { name: string };
  /** Null: an application invites. */
  inviter: string | null;
  email: string;
  /** Of whoever is signed in. */
  user_email: string | null;
}

/** Asks before somebody leaves an organization. */
export interface LeavePage extends FormPage {
  organization: { id: string };
}

/** An organization that the person is a member of. */
export type JoinedOrganization = {
  id: string;
  display_name: string;
  logo_url: string | null;
  status: 'active' | 'suspended';
  /** ISO 8601 */
  joined_at: string;
};

/** An organization to choose; `name` is what its button posts. */
type PageOrganization = { name: string; display_name: string; logo_url: string | null };

/** Posts `organization` and `hidden` to `action`. `personal`: what the button for no organization posts, null where there is none. */
export interface ChooseOrganizationPage extends FormPage {
  client: PageClient;
  user: { email: string };
  organizations: PageOrganization[];
  /** Those that the person is invited to, by a mail that leads there. */
  invitations: PageOrganization[];
  personal: string | null;
  /** Where to sign in with another account. */
  other_account: string;
  action: string;
  hidden: Record<string, string>;
}
