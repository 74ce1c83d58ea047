import { recordPath, type ViewContext } from './presentation.js';
import { may } from './resource-objects.js';
import { terms } from './words.js';

/** What has branding. */
export type LogoOwner = 'environments' | 'clients';

/** Where the logos of a client, or of the environment, are changed. */
export const logosPath = (collection: LogoOwner, id: string): string =>
  collection === 'clients' ? `${recordPath('clients', id)}/logo` : '/dashboard/settings/logo';

/** The way there from the form of what has the branding, for whoever may go it; none from that of a new client. */
export function logosLink({ req }: ViewContext, collection: LogoOwner): { label: string; path: string } | null {
  const id = collection === 'clients' ? req.params['id'] : req.ctx.environment.id;
  if (typeof id !== 'string' || !may(req.call, 'logos', 'write') || !may(req.call, collection, 'write')) return null;
  return { label: terms.upload_an_image, path: logosPath(collection, id) };
}
