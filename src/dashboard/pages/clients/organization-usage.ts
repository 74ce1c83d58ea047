import type { ClientRow } from '../../../db/tables/clients.js';
import type { Choice } from '../../parts/page-parts.js';

/** Whether people sign in to a client for an organization, in words. */
export const organizationUsageLabels: Readonly<Record<ClientRow['organization_usage'], string>> = {
  deny: 'Never',
  allow: 'When the application names one',
  require: 'Always',
};

export const organizationUsageChoices = async (): Promise<Choice[]> =>
  Object.entries(organizationUsageLabels).map(([value, label]) => ({ value, label, hint: null }));
