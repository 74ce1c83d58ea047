import type { ClientRow } from '../../db/tables/clients.js';
import type { EnvironmentRow } from '../../db/tables/environments.js';

/** How pages and mails look that people see who sign in; null: nothing of the kind is shown. */
export type Brand = {
  /** Whose pages they are, in the header, the title and as the sender's name. */
  readonly name: string;
  readonly logo_url: string | null;
  /** For dark schemes; null: `logo_url` serves both. */
  readonly dark_logo_url: string | null;
  /** `#1a2b3c`; null: the default. */
  readonly primary_color: string | null;
  readonly support_email: string | null;
  /** The environment's privacy policy and terms of service; a client's own stand on its consent page. */
  readonly policy_uri: string | null;
  readonly tos_uri: string | null;
};

/** As far as looks are concerned. */
export type BrandedEnvironment = Pick<EnvironmentRow, 'name' | 'kind' | 'support_email'> & { branding: EnvironmentRow['branding'] | null };
export type BrandedClient = Pick<ClientRow, 'branding' | 'policy_uri' | 'tos_uri' | 'verified'>;

/**
 * The looks of the environment, or of the client whose sign-in is under way where it has its own. A client that nobody vouches for has none: its pages
 * would be its own word in our name.
 */
export function brandOf(environment: BrandedEnvironment, client: BrandedClient | null = null): Brand {
  const ours = environment.branding ?? {};
  const vouched = client?.verified ? client : null;
  const theirs = vouched?.branding ?? {};
  // A name with somebody else's logo would be two answers to whose page it is.
  const shown = theirs.name || theirs.logo_url ? theirs : ours;
  return {
    name: theirs.name || ours.name || environment.name,
    logo_url: shown.logo_url || null,
    dark_logo_url: shown.dark_logo_url || null,
    primary_color: theirs.primary_color || ours.primary_color || null,
    support_email: theirs.support_email || environment.support_email,
    policy_uri: vouched?.policy_uri || ours.policy_uri || null,
    tos_uri: vouched?.tos_uri || ours.tos_uri || null,
  };
}
