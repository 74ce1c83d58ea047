import { imageTypes } from '../../../lib/images/image.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Part, UploadPart } from '../../parts/page-parts.js';
import type { ViewContext } from '../../parts/records/presentation.js';
import { terms } from '../../parts/words.js';
import { imageFieldOf, imageSlots, logosPath, mayUpload, type ImageSlot, type LogoOwner } from './logo-link.js';

export type Owner = { readonly collection: LogoOwner; readonly record: ResourceObject; readonly path: string };

type Branding = Readonly<Record<string, string | null>>;

export const brandingOf = ({ record }: Owner): Branding => (record.attributes['branding'] ?? {}) as Branding;
const slots = Object.keys(imageSlots) as ImageSlot[];
const titles: Readonly<Record<ImageSlot, string>> = { light: terms.logo, dark: terms.logo_in_dark_mode, favicon: terms.favicon };
export const imageLabels = Object.fromEntries(slots.map((slot) => [imageFieldOf(slot), titles[slot]]));
const absent: Readonly<Record<ImageSlot, string>> = {
  light: 'None yet: the name is shown.',
  dark: 'None: the light logo is shown.',
  favicon: 'None yet: a neutral icon is shown.',
};

function uploadPart(owner: Owner, slot: ImageSlot, errors: Readonly<Record<string, string>>): UploadPart {
  const branding = brandingOf(owner);
  const own = branding[imageSlots[slot]] ?? null;
  const image = own ?? (slot === 'dark' ? (branding['logo_url'] ?? null) : null);
  return {
    kind: 'upload',
    id: imageFieldOf(slot),
    title: titles[slot],
    ground: slot === 'dark' ? 'dark' : 'light',
    image,
    text: own !== null ? null : image === null && slot === 'dark' ? absent.light : absent[slot],
    accept: imageTypes.join(','),
    hint: 'PNG, JPEG or WebP, at most 512 KiB and 4,096 pixels a side. It is saved at once.',
    action: owner.path,
    hidden: { slot },
    button: own === null ? 'Upload' : 'Replace',
    isRemovable: own !== null,
    error: errors[imageFieldOf(slot)] ?? null,
  };
}

/** A form for each image of the branding. */
export const uploadFormsOf = (owner: Owner, errors: Readonly<Record<string, string>>): Part[] =>
  slots.map((slot) => uploadPart(owner, slot, errors));

/** What stands below the form of a branding: its images, for whoever may upload them. */
export const uploadParts = (view: ViewContext, collection: LogoOwner, record: ResourceObject): Part[] =>
  mayUpload(view, collection) ? uploadFormsOf({ collection, record, path: logosPath(collection, record.id) }, {}) : [];
