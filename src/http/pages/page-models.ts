import { addressMembers, profileColumns, type AddressMember, type ProfileColumn } from '../../lib/profile-columns.js';
import type { PageDetail, PageLink } from '../../errors.js';
import type { ApplicationsPage, PageApplication, PageApproval, PageDetailText } from './application-models.js';
import type { BasePage, FormPage, PageClient, PageConnection } from './form-page.js';
import type { ChooseOrganizationPage, JoinedOrganization, LeavePage, PageInvitation } from './organization-models.js';
import type { PageSignInMethods } from './sign-in-methods.js';
import type {
  LoginPage,
  PasswordForgotPage,
  PasswordResetPage,
  RegisterCompletePage,
  RegisterPage,
  RegisterVerifyPage,
} from './sign-in-models.js';

export type * from './application-models.js';
export type * from './form-page.js';
export type * from './organization-models.js';
export type * from './sign-in-models.js';

export type { PageLink };

/** A result: one paragraph for each text, and at most one link onward. */
export interface MessagePage extends BasePage {
  tone: 'good' | 'info' | 'warning';
  text: string[];
  next: PageLink | null;
}

export type PageSession = {
  id: string;
  /** In words: "Chrome on macOS" */
  device: string;
  ip_address: string | null;
  /** ISO 8601 */
  created_at: string;
  /** ISO 8601 */
  last_activity_at: string;
  current: boolean;
};

/** An account at a provider that signs this user in. */
export type PageIdentity = {
  id: string;
  connection_id: string;
  display_name: string;
  strategy: PageConnection['strategy'];
  email: string | null;
  linked_at: string;
  /** False: the connection has changed since, and the link signs nobody in until it is connected again. */
  proven: boolean;
  /** The clients that have tokens of it, with the provider's scopes. */
  uses?: readonly { readonly id: string; readonly name: string; readonly scopes: readonly string[] }[] | undefined;
};

/** The profile as form values: OIDC Core 5.1 claims under their names here, the address flattened to `address_<member>`. */
export const profileFields = [
  ...profileColumns,
  ...addressMembers.map((member) => `address_${member}` as const),
] as const satisfies readonly string[];
export type ProfileField = ProfileColumn | `address_${AddressMember}`;

/**
 * Forms: profile to POST /account/profile; `current_password`, `password` to POST /account/password; POST /account/sessions/{id}/revoke and
 * /account/sessions/revoke_others; POST /account/identities/{id}/unlink; POST /auth/sso/{connection_id}/connect; POST /account/applications/{client_id}/revoke; POST /logout.
 */
export interface AccountPage extends FormPage {
  user: { email: string; email_verified: boolean; phone_number_verified: boolean; name: string };
  values: Record<ProfileField, string | null | undefined> & { email?: string | undefined };
  /** False: signed in through a connection only; the page then offers to set one by mail. */
  has_password: boolean;
  password_min_length: number;
  sessions: PageSession[];
  identities: PageIdentity[];
  /** Further ones that could be connected. */
  connections?: PageConnection[] | undefined;
  applications: PageApplication[];
  approvals: PageApproval[];
  /** The last sign-ins and refused ones, the latest first. */
  sign_ins: { occurred_at: string; succeeded: boolean; count: number; device: string; ip_address: string | null }[];
  /** First-party applications that this user has signed in to, and where a sign-in to them begins. */
  own_applications: (PageClient & { client_id: string; logo_uri: string | null; open_url: string })[];
  organizations: JoinedOrganization[];
  /** Absent or null where there are none, and none can be added. */
  sign_in_methods?: PageSignInMethods | null | undefined;
  /** Until when signing in keeps an account that is deleted now (ISO 8601); null where people can't delete theirs. */
  kept_until: string | null;
  /** The provider that alone signs in people of this address, which can't be changed here then. */
  email_managed_by: string | null;
}

/** Posts `code` to /account/email/verify. */
export interface EmailVerifyPage extends FormPage {
  /** The new address. */
  email: string;
  expires_at: string;
  values: { code?: string | undefined };
}

/** Proof of the local account before a provider's account is linked to it. Posts `password`, `email` and `hidden` to `action`. */
export interface LinkAccountPage extends FormPage {
  action: string;
  hidden: Record<string, string>;
  /** The local account's; with `again` what the provider says or the person typed, to be changed. */
  email: string;
  /** The two were connected before, and the connection has changed since. */
  again: boolean;
  connection: { display_name: string; strategy: PageConnection['strategy'] };
}

/** GET /logout: posts to /logout. */
export interface LogoutPage extends BasePage {
  user: { email: string; name: string };
  return_to: string;
}

/** Of an unverified client: where it comes from, in a sentence, and whether any program of the person's device could have asked in its name. */
export type UnverifiedNotice = { whose: string; local: boolean };

/** Posts `decision` allow or deny, and `hidden`, to `action`. */
export interface ConsentPage extends FormPage {
  client: PageClient & { is_agent: boolean; logo_uri: string | null; policy_uri: string | null; tos_uri: string | null };
  /**
   * Where the answer goes: the host of the redirect URI, "notes.example", shown because a client's name alone can be made up. An application on the
   * device goes by its name, and `address` is the scheme or port that it listens at, "cursor:".
   */
  destination: { name: string; address: string | null };
  unverified: UnverifiedNotice | null;
  user: { email: string; name: string };
  /** `text` in words (scope-texts.ts); the name stands beside those that read the same. */
  scopes: { name: string; text: string; is_repeated?: boolean }[];
  /** Details beyond scopes as sentences, each in its language, and the name of its box: unticked, it isn't allowed. */
  details: (PageDetailText & { name: string })[];
  action: string;
  hidden: Record<string, string>;
}

/** RP-Initiated Logout 1.0 section 2: asks. Posts `decision` logout or stay, and `hidden`, to `action`. */
export interface LogoutConfirmPage extends BasePage {
  client: PageClient | null;
  user: { email: string; name: string };
  action: string;
  hidden: Record<string, string>;
}

export interface LoggedOutPage extends BasePage {
  client: PageClient | null;
  /** Why the person isn't sent to the `post_logout_redirect_uri` that was asked for; null when none was. */
  stays: 'unregistered' | 'unproven' | null;
  next: PageLink | null;
}

/** OAuth 2.0 Form Post Response Mode 1.0: submits itself to the redirect URI; name its origin in `formAction`. */
export interface FormPostPage extends BasePage {
  client: PageClient;
  action: string;
  fields: Record<string, string>;
}

/** What happened (`title`, `text`), what to do (`next_step`, `next`), and what to quote (`code`, request id). */
export interface ErrorPage extends BasePage {
  status: number;
  code: string;
  text: string;
  /** One sentence */
  next_step: string;
  next: PageLink | null;
  /** In development environments alone: what it takes to mend the application. */
  details: readonly PageDetail[];
}

export type MailboxMessage = {
  id: string;
  to: string;
  subject: string;
  text: string;
  created_at: string;
  /** The code in it; null for none. */ code: string | null;
};

/** The development mailbox, newest first. */
export interface MailboxPage extends BasePage {
  messages: MailboxMessage[];
  /** The address filtered by, empty for all. */
  to: string;
}

/** GET / */
export interface HomePage extends BasePage {
  base_url: string;
  user: { email: string; name: string } | null;
  /** Whether /dev/mailbox is there. */
  mailbox: boolean;
}

/**
 * Every view and the model it takes. A surface with views of its own adds them where it lives:
 * `declare module './page-models.js' { interface PageModels { 'dashboard/webhooks': WebhooksPage } }`
 */
export interface PageModels {
  'account/login': LoginPage;
  'account/register': RegisterPage;
  'account/register-verify': RegisterVerifyPage;
  'account/register-complete': RegisterCompletePage;
  'account/password-forgot': PasswordForgotPage;
  'account/password-reset': PasswordResetPage;
  'account/message': MessagePage;
  'account/account': AccountPage;
  'account/applications': ApplicationsPage;
  'account/email-verify': EmailVerifyPage;
  'account/invitation': PageInvitation;
  'account/leave': LeavePage;
  'account/link-account': LinkAccountPage;
  'account/logout': LogoutPage;
  'oauth/consent': ConsentPage;
  'oauth/choose-organization': ChooseOrganizationPage;
  'oauth/logout-confirm': LogoutConfirmPage;
  'oauth/logged-out': LoggedOutPage;
  'oauth/form-post': FormPostPage;
  error: ErrorPage;
  'dev/mailbox': MailboxPage;
  'dev/home': HomePage;
}
