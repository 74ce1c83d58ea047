import { createHash } from 'node:crypto';
import { countLogos, hasLogo, isLogoNamed, removeLogo, saveLogo, type LogoRow } from '../../db/tables/logos.js';
import { checkImage, imageExtensions, type CheckedImage } from '../../lib/images/image.js';
import type { Context } from '../context.js';
import { Refusal, unfit } from '../refusal.js';

const maxLogos = 1_000;
const maxBytes = 64 * 1024 * 1024;
/** Days for which a logo that no branding names is kept, for whoever goes back to it. */
const unusedDays = 30;

const dayMs = 86_400_000;

/** When a logo goes that nothing names from now on. */
export const logoExpiry = (now: Date): Date => new Date(now.getTime() + unusedDays * dayMs);

/** The path of a logo, by what it is: it never shows another image. */
export const logoPath = ({ id, content_type }: Pick<LogoRow, 'id' | 'content_type'>): string =>
  `/logos/${id}.${imageExtensions[content_type]}`;

/** The address of a logo, to be named by a branding. */
export const logoUrl = ({ environment }: Pick<Context, 'environment'>, logo: Pick<LogoRow, 'id' | 'content_type'>): string =>
  `${environment.issuer}${logoPath(logo)}`;

/** The image, once it is known to be one. @throws {Refusal} 422 `invalid_image` */
export function readLogo(bytes: Buffer): CheckedImage {
  const checked = checkImage(bytes);
  if ('problem' in checked) throw new Refusal(unfit('image', 'invalid_image', checked.problem));
  return checked;
}

/** Keeps an image for the environment; the same image again is the same logo. @throws {Refusal} 409 `too_many` */
export async function keepLogo(tx: Context, { bytes, content_type }: CheckedImage): Promise<LogoRow> {
  const id = createHash('sha256').update(bytes).digest('hex');
  const there = await countLogos(tx.scope);
  const isFull = there.count >= maxLogos || there.bytes + bytes.length > maxBytes;
  if (isFull && !(await hasLogo(tx.scope, id))) {
    const detail = `An environment has at most ${maxLogos} logos, of ${maxBytes / 1024 / 1024} MiB together.`;
    throw new Refusal({ status: 409, code: 'too_many', detail });
  }
  const now = tx.clock.now();
  return saveLogo(tx.scope, { id, content_type, size: bytes.length, image: bytes, created_at: now, expires_at: logoExpiry(now) });
}

/** Removes a logo. @throws {Refusal} 409 `logo_in_use` while a branding of the environment names it; what others name is no concern of its owner's */
export async function dropLogo(tx: Context, id: string): Promise<void> {
  if (await isLogoNamed(tx.scope, id))
    throw new Refusal({
      status: 409,
      code: 'logo_in_use',
      detail: 'The branding of the environment, of a client or of an organization names this logo.',
    });
  await removeLogo(tx.scope, id);
}
