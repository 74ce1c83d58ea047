import { brandOf, type BrandedClient, type BrandedEnvironment } from '../environments/branding.js';
import { commonVariables, mailSpec, type MailBase, type MailModels, type MailName, type MailText } from './mails.js';
import { renderMail, type RenderedMail } from './templates.js';

type Branded = Pick<BrandedEnvironment, 'name' | 'kind' | 'support_email' | 'branding'>;

/** What previews and tests put in the place of the mail's variables. */
export const sampleValues = (name: MailName): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(mailSpec(name).variables).map(([each, { sample }]) => [each, sample]));

/**
 * A mail with sample values, with the looks of the environment or of the client, as previews and tests show it.
 * @param language of the template, a BCP 47 tag
 */
export function renderSample(
  environment: Branded,
  name: MailName,
  template: MailText,
  language: string,
  client: BrandedClient | null = null,
): RenderedMail {
  const base: MailBase = {
    environment: mailEnvironment(environment, client),
    request: {
      ip_address: commonVariables.ip_address.sample,
      device: { name: 'Chrome', system: 'macOS' },
      at: commonVariables.time.sample,
    },
  };
  return renderMail(name, { ...sampleValues(name), ...base } as MailModels[MailName], template, language);
}

/** The environment as mails show it, or the client whose sign-in is under way where that has looks of its own. */
export function mailEnvironment(environment: Branded, client: BrandedClient | null = null): MailBase['environment'] {
  const { name, support_email, theme, logo_url, dark_logo_url } = brandOf(environment, client);
  return { name, support_email, theme, logo_url, dark_logo_url };
}
