import type { ClientRow } from '../../db/tables/clients.js';
import type { Branding, EnvironmentRow } from '../../db/tables/environments.js';
import type { OrganizationRow } from '../../db/tables/organizations.js';
import type { Font } from '../../lib/fonts.js';

/** Colours as `#1a2b3c`, of light and of dark schemes, the radius of corners in pixels; null: the default. */
export type Theme = {
  readonly primary_color: string | null;
  readonly dark_primary_color: string | null;
  readonly background_color: string | null;
  readonly dark_background_color: string | null;
  readonly corner_radius: number | null;
  readonly font: Font | null;
};

/** How pages and mails look that people see who sign in; null: nothing of the kind is shown. */
export type Brand = {
  /** Whose pages they are, in the header, the title and as the sender's name. */
  readonly name: string;
  readonly logo_url: string | null;
  /** For dark schemes; null: `logo_url` serves both. */
  readonly dark_logo_url: string | null;
  readonly favicon_url: string | null;
  readonly theme: Theme;
  readonly support_email: string | null;
  /** The environment's privacy policy and terms of service; a client's own stand on its consent page. */
  readonly policy_uri: string | null;
  readonly tos_uri: string | null;
};

/** As far as looks are concerned. */
export type BrandedEnvironment = Pick<EnvironmentRow, 'name' | 'kind' | 'support_email'> & { branding: EnvironmentRow['branding'] | null };
export type BrandedClient = Pick<ClientRow, 'branding' | 'policy_uri' | 'tos_uri' | 'verified'>;

/** The looks of an organization, on the way to a client where there is one. */
export const organizationLooks = (
  { display_name, branding }: Pick<OrganizationRow, 'display_name' | 'branding'>,
  client: Pick<ClientRow, 'policy_uri' | 'tos_uri'> | null = null,
): BrandedClient => ({
  branding: { ...branding, name: branding.name || display_name },
  policy_uri: client?.policy_uri ?? null,
  tos_uri: client?.tos_uri ?? null,
  verified: true,
});

/**
 * The looks of the environment, or of the client whose sign-in is under way where it has its own. An unverified client has none: its pages
 * would be its own word in our name.
 */
export function brandOf(environment: BrandedEnvironment, client: BrandedClient | null = null): Brand {
  const ours = environment.branding ?? {};
  const branded = client?.verified ? client : null;
  const theirs = branded?.branding ?? {};
  // A name with somebody else's logo would be two answers to whose page it is.
  const shown = theirs.name || theirs.logo_url ? theirs : ours;
  return {
    name: theirs.name || ours.name || environment.name,
    logo_url: shown.logo_url || null,
    dark_logo_url: shown.dark_logo_url || null,
    favicon_url: shown.favicon_url || null,
    theme: themeOf(theirs, ours),
    support_email: theirs.support_email || environment.support_email,
    policy_uri: branded?.policy_uri || ours.policy_uri || null,
    tos_uri: branded?.tos_uri || ours.tos_uri || null,
  };
}

/** A colour and its dark variant come from one of them: half a pair beside the other's half is nobody's design. */
function themeOf(theirs: Branding, ours: Branding): Theme {
  const accents = theirs.primary_color || theirs.dark_primary_color ? theirs : ours;
  const backgrounds = theirs.background_color || theirs.dark_background_color ? theirs : ours;
  return {
    primary_color: accents.primary_color || null,
    dark_primary_color: accents.dark_primary_color || null,
    background_color: backgrounds.background_color || null,
    dark_background_color: backgrounds.dark_background_color || null,
    corner_radius: theirs.corner_radius ?? ours.corner_radius ?? null,
    font: theirs.font || ours.font || null,
  };
}
