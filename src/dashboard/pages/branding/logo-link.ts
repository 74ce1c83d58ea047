import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import { may } from '../../parts/records/objects.js';

export type LogoOwner = 'environments' | 'clients' | 'organizations';

/** The images of a branding, by their names in forms. */
export const imageSlots = { light: 'logo_url', dark: 'dark_logo_url', favicon: 'favicon_url' } as const;
export type ImageSlot = keyof typeof imageSlots;

/** Of the file input. */
export const imageFieldOf = (slot: ImageSlot): string => `image-${slot}`;

export const logosPath = (collection: LogoOwner, id: string): string =>
  collection === 'environments' ? '/dashboard/settings/logo' : `${recordPath(collection, id)}/logo`;

/** The form of what has the branding, below which images are uploaded. */
export const brandingPath = (collection: LogoOwner, id: string): string =>
  collection === 'environments' ? '/dashboard/settings/branding' : `${recordPath(collection, id)}/edit/branding`;

/** Whether the actor may upload images for what has the branding. */
export const mayUpload = ({ req }: ViewContext, collection: LogoOwner): boolean =>
  may(req.call, 'logos', 'write') && may(req.call, collection, 'write');

/** The way from the field of an image to its upload on the same page, for whoever may go it; none from the form of a new record. */
export function logosLink(view: ViewContext, collection: LogoOwner, name: string): { label: string; path: string } | null {
  const slot = (Object.keys(imageSlots) as ImageSlot[]).find((one) => imageSlots[one] === name);
  if (slot === undefined || !mayUpload(view, collection)) return null;
  if (collection !== 'environments' && typeof view.req.params['id'] !== 'string') return null;
  return { label: 'Upload an image', path: `#${imageFieldOf(slot)}` };
}
