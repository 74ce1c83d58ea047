import type { Request, Response } from 'express';
import { logoUrl } from '../domain/logos/logos.js';
import type { LogoRow } from '../db/tables/logos.js';
import { imageTypes, maxImageBytes } from '../lib/images/image.js';
import { requirePermissions } from '../management/authorize.js';
import type { ResourceObject } from '../management/documents.js';
import { createRecord, updateRecord } from '../management/operations.js';
import { notFound } from '../management/problems.js';
import { placeIn } from './list-place.js';
import { logosPath, type LogoOwner } from './logo-place.js';
import type { Part, UploadPart } from './page-parts.js';
import { clients } from './pages/clients.js';
import { recordPath, type ViewContext } from './presentation.js';
import type { Render } from './render.js';
import { attempt } from './resource-forms.js';
import { recordOf, recordVersion, resourceOf } from './resource-objects.js';
import { addressedId, recordFrame } from './resource-record.js';
import { fill, hints, sentences, terms } from './words.js';

/** Whose branding has the logo. */
type Owner = { readonly collection: LogoOwner; readonly record: ResourceObject; readonly path: string };

type Branding = Readonly<Record<string, string | null>>;

const slots = { light: 'logo_url', dark: 'dark_logo_url' } as const;
type Slot = keyof typeof slots;

const brandingOf = ({ record }: Owner): Branding => (record.attributes['branding'] ?? {}) as Branding;
const fieldOf = (slot: Slot) => `image-${slot}`;
const labels = { [fieldOf('light')]: terms.logo, [fieldOf('dark')]: terms.logo_in_dark_mode };

function uploadPart(owner: Owner, slot: Slot, errors: Readonly<Record<string, string>>): UploadPart {
  const branding = brandingOf(owner);
  const own = branding[slots[slot]] ?? null;
  const image = own ?? branding['logo_url'] ?? null;
  return {
    kind: 'upload',
    id: fieldOf(slot),
    title: labels[fieldOf(slot)] ?? '',
    ground: slot,
    image,
    text: own !== null ? null : image === null ? sentences.no_logo_yet : sentences.the_logo_for_light_schemes,
    accept: imageTypes.join(','),
    hint: hints.logo_image,
    action: owner.path,
    hidden: { slot },
    button: own === null ? terms.upload : terms.replace,
    isRemovable: own !== null,
    error: errors[fieldOf(slot)] ?? null,
  };
}

const partsOf = (owner: Owner, errors: Readonly<Record<string, string>>): Part[] => [
  uploadPart(owner, 'light', errors),
  uploadPart(owner, 'dark', errors),
];

/** The owner that the address names: the client, or else the environment. @throws {ApiError} 403, 404 */
async function ownerOf(req: Request, collection: LogoOwner): Promise<Owner> {
  requirePermissions(req.call, `${collection}:write`, 'logos:write');
  const id = collection === 'clients' ? addressedId(req) : req.ctx.environment.id;
  const { record } = await recordOf(req.call, collection, id);
  return { collection, record, path: logosPath(collection, id) };
}

function show(render: Render, req: Request, res: Response, owner: Owner, errors: Readonly<Record<string, string>>, status: number): void {
  const look: ViewContext = { req, now: req.call.ctx.clock.now() };
  const shared = { lead: sentences.logos_lead, errors, labels, parts: partsOf(owner, errors) };
  if (owner.collection === 'environments') {
    const crumbs = [{ label: terms.settings, path: '/dashboard/settings' }];
    return render(req, res, { title: terms.logo, crumbs, ...shared }, status);
  }
  const { dangers: _dangers, ...frame } = recordFrame(look, clients, owner.record, [], null);
  const crumbs = [
    { label: clients.title, path: placeIn(req, 'clients') },
    { label: frame.title, path: recordPath('clients', owner.record.id) },
  ];
  render(req, res, { title: terms.logo, document_title: `${terms.logo} · ${frame.title}`, crumbs, ...shared }, status);
}

/** GET of the page with the logos of a client, or of the environment. */
export function logosPage(render: Render, collection: LogoOwner) {
  return async (req: Request, res: Response): Promise<void> => {
    show(render, req, res, await ownerOf(req, collection), {}, 200);
  };
}

/** Keeps the image and answers its address. @throws {ApiError} */
async function keep({ call, ctx }: Request, bytes: Buffer): Promise<string> {
  const attributes = { image: bytes.toString('base64') };
  const { row } = await createRecord(call, resourceOf(call, 'logos'), () => ({ attributes, relationships: {}, document: {} }));
  return logoUrl(ctx, row as unknown as LogoRow);
}

/** Puts the address into the branding as it is now; null takes it out. @throws {ApiError} */
async function brand(req: Request, { collection, record }: Owner, slot: Slot, url: string | null): Promise<void> {
  const branding = { ...(record.attributes['branding'] as Branding | null), [slots[slot]]: url };
  const input = { attributes: { branding }, relationships: {}, document: {} };
  await updateRecord(req.call, resourceOf(req.call, collection), record.id, () => input, { expected: [recordVersion(record)] });
}

/** POST of a logo, or of a wish to have none. */
export function saveLogo(render: Render, collection: LogoOwner) {
  return async (req: Request, res: Response): Promise<void> => {
    const owner = await ownerOf(req, collection);
    const slot = req.form.get('slot');
    if (slot !== 'light' && slot !== 'dark') throw notFound();
    const { upload } = req;
    const refuse = (text: string, status = 422) => show(render, req, res, owner, { [fieldOf(slot)]: text }, status);
    if (req.form.get('remove') !== undefined) {
      await brand(req, owner, slot, null);
      return res.redirect(303, `${owner.path}?done=updated`);
    }
    if (upload === null) return refuse(sentences.choose_an_image);
    if (upload.isTooLarge) return refuse(fill(sentences.the_image_is_larger_than, { size: maxImageBytes / 1024 }));
    const result = await attempt([], { texts: {}, chosen: {} }, async () => {
      await brand(req, owner, slot, await keep(req, upload.bytes));
    });
    if ('errors' in result) return refuse(result.status === 412 ? sentences.somebody_changed_it_meanwhile : (result.errors['form'] ?? ''), result.status === 412 ? 409 : result.status); // prettier-ignore
    res.redirect(303, `${owner.path}?done=updated`);
  };
}
