import type { Environment } from '../environments/environment.js';
import { commonVariables, mailSpec, type MailBase, type MailModels, type MailName, type MailText } from './mails.js';
import { renderMail, type RenderedMail } from './templates.js';

/** A mail with sample values, at the environment's own name and colour, as previews and tests show it. */
export function renderSample(
  environment: Pick<Environment, 'branding' | 'name' | 'support_email'>,
  name: MailName,
  template: MailText,
  locale: string | null,
): RenderedMail {
  const samples = Object.entries(mailSpec(name).variables).map(([each, { sample }]) => [each, sample]);
  const base: MailBase = {
    environment: mailEnvironment(environment),
    request: {
      ip_address: commonVariables.ip_address.sample,
      device: commonVariables.device.sample,
      at: commonVariables.time.sample,
    },
  };
  return renderMail(name, { ...Object.fromEntries(samples), ...base } as MailModels[MailName], template, locale);
}

/** The environment as mails show it. */
export const mailEnvironment = ({
  branding,
  name,
  support_email,
}: Pick<Environment, 'branding' | 'name' | 'support_email'>): MailBase['environment'] => ({
  name: branding?.name || name,
  support_email,
  primary_color: branding?.primary_color,
});
