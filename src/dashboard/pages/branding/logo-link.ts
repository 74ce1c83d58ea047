import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import { may } from '../../parts/records/objects.js';

export type LogoOwner = 'environments' | 'clients';

export const logosPath = (collection: LogoOwner, id: string): string =>
  collection === 'clients' ? `${recordPath('clients', id)}/logo` : '/dashboard/settings/logo';

/** The way there from the form of what has the branding, for whoever may go it; none from that of a new client. */
export function logosLink({ req }: ViewContext, collection: LogoOwner): { label: string; path: string } | null {
  const id = collection === 'clients' ? req.params['id'] : req.ctx.environment.id;
  if (typeof id !== 'string' || !may(req.call, 'logos', 'write') || !may(req.call, collection, 'write')) return null;
  return { label: 'Upload an image', path: logosPath(collection, id) };
}
