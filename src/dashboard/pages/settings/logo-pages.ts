import type { Request, Response } from 'express';
import { logoUrl } from '../../../domain/logos/logos.js';
import type { LogoRow } from '../../../db/tables/logos.js';
import { maxImageBytes } from '../../../lib/images/image.js';
import { requirePermissions } from '../../../management/authorize.js';
import { perform } from '../../../management/write-steps.js';
import { notFound } from '../../../management/problems.js';
import { listAddress } from '../../parts/list-address.js';
import { brandingPath, imageFieldOf, imageSlots, logosPath, type ImageSlot, type LogoOwner } from '../branding/logo-link.js';
import { brandingOf, imageLabels, uploadFormsOf, type Owner } from '../branding/upload-parts.js';
import { clientsPresentation } from '../clients/clients.js';
import { organizationsPresentation } from '../organizations/organizations.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import type { Render } from '../../parts/render.js';
import { attempt } from '../../parts/forms/create.js';
import { recordOf, recordVersion, resourceOf } from '../../parts/records/objects.js';
import { addressedId, recordFrame } from '../../parts/records/record.js';
import { terms } from '../../parts/words.js';

const presentations = { clients: clientsPresentation, organizations: organizationsPresentation };

/** The owner that the address names: the client or organization, or else the environment. @throws {ApiError} 403, 404 */
async function ownerOf(req: Request, collection: LogoOwner): Promise<Owner> {
  requirePermissions(req.call, `${collection}:write`, 'logos:write');
  const id = collection === 'environments' ? req.ctx.environment.id : addressedId(req);
  const { record } = await recordOf(req.call, collection, id);
  return { collection, record, path: logosPath(collection, id) };
}

function show(render: Render, req: Request, res: Response, owner: Owner, errors: Readonly<Record<string, string>>, status: number): void {
  const view: ViewContext = { req, now: req.call.ctx.clock.now() };
  const shared = {
    lead: 'Shown on the sign-in pages and in emails. Images are saved when you upload them.',
    errors,
    labels: imageLabels,
    parts: uploadFormsOf(owner, errors),
  };
  const { collection } = owner;
  if (collection === 'environments') {
    const crumbs = [{ label: terms.settings, path: '/dashboard/settings/branding' }];
    return render(req, res, { title: terms.logo, crumbs, ...shared }, status);
  }
  const presentation = presentations[collection];
  const { dangers: _dangers, ...frame } = recordFrame(view, presentation, owner.record, [], null);
  const crumbs = [
    { label: presentation.title, path: listAddress(req, collection) },
    { label: frame.title, path: recordPath(collection, owner.record.id) },
  ];
  render(req, res, { title: terms.logo, document_title: `${terms.logo} · ${frame.title}`, crumbs, ...shared }, status);
}

export const logosPage = (render: Render, collection: LogoOwner) => async (req: Request, res: Response) => {
  show(render, req, res, await ownerOf(req, collection), {}, 200);
};

/** Keeps the image and answers its address. @throws {ApiError} */
async function keep({ call, ctx }: Request, bytes: Buffer): Promise<string> {
  const attributes = { image: bytes.toString('base64') };
  const document = { data: { type: 'logo', attributes } };
  const { row } = await perform(call, { kind: 'create', resource: resourceOf(call, 'logos'), id: null, document });
  return logoUrl(ctx, row as unknown as LogoRow);
}

/** Puts the address into the branding as it is now; null takes it out. @throws {ApiError} */
async function brand(req: Request, owner: Owner, slot: ImageSlot, url: string | null): Promise<void> {
  const { collection, record } = owner;
  const branding = { ...brandingOf(owner), [imageSlots[slot]]: url };
  const { id, type } = record;
  const document = { data: { type, id, attributes: { branding } } };
  const resource = resourceOf(req.call, collection);
  await perform(req.call, { kind: 'update', resource, id, document, expected: [recordVersion(record)] });
}

export function postLogo(render: Render, collection: LogoOwner) {
  return async (req: Request, res: Response): Promise<void> => {
    const owner = await ownerOf(req, collection);
    const slot = req.form.get('slot');
    if (slot !== 'light' && slot !== 'dark' && slot !== 'favicon') throw notFound();
    const back = `${brandingPath(collection, owner.record.id)}?done=updated#${imageFieldOf(slot)}-title`;
    const { upload } = req;
    const refuse = (text: string, status = 422) => show(render, req, res, owner, { [imageFieldOf(slot)]: text }, status);
    if (req.form.get('remove') !== undefined) {
      await brand(req, owner, slot, null);
      return res.redirect(303, back);
    }
    if (upload === null) return refuse('Choose an image first.');
    if (upload.isTooLarge) return refuse(`The image is larger than ${maxImageBytes / 1024} KiB.`);
    const result = await attempt([], { texts: {}, chosen: {} }, async () => {
      await brand(req, owner, slot, await keep(req, upload.bytes));
    });
    if ('errors' in result)
      return refuse(
        result.status === 412
          ? 'Someone else changed this in the meantime. Check the current version, then try again.'
          : (result.errors['form'] ?? ''),
        result.status === 412 ? 409 : result.status,
      );
    res.redirect(303, back);
  };
}
