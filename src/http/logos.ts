import type { Request, RequestHandler, Response } from 'express';
import { findLogoImage, type LogoImage } from '../db/tables/logos.js';
import type { Deps } from '../domain/context.js';
import { PageError } from '../errors.js';
import { message } from '../lib/languages/messages.js';
import { logoPath } from '../domain/logos/logos.js';

/** A name that an image of ours can have; nothing else is looked up. */
const shape = /^([0-9a-f]{64})\.(?:png|jpg|webp)$/;

/** How many images are cached, and for how long, so that repeated requests cost the database little. */
const maxCached = 32;
const cacheMs = 60_000;

type CachedLogo = { readonly image: LogoImage; readonly until: number };

/**
 * GET /logos/{sha256}.{png|jpg|webp}: a logo of the environment of the host. Its bytes are those that the address is the digest of, so it is kept for
 * good.
 * @throws {PageError} 404
 */
export function logoImage({ clock }: Pick<Deps, 'clock'>): RequestHandler {
  const cached = new Map<string, CachedLogo>();

  async function find({ ctx }: Request, id: string): Promise<LogoImage | null> {
    const key = `${ctx.environment.id} ${id}`;
    const now = clock.now().getTime();
    const known = cached.get(key);
    if (known && known.until > now) return known.image;
    cached.delete(key);
    const image = await findLogoImage(ctx.scope, id);
    if (!image) return null;
    const [oldest] = cached.keys();
    if (cached.size >= maxCached && oldest !== undefined) cached.delete(oldest);
    cached.set(key, { image, until: now + cacheMs });
    return image;
  }

  return async (req: Request, res: Response): Promise<void> => {
    const file = String(req.params['file']);
    const id = shape.exec(file)?.[1];
    const found = id === undefined ? null : await find(req, id);
    if (id === undefined || !found || logoPath({ id, ...found }) !== `/logos/${file}`)
      throw new PageError(404, 'not_found', message('refusal.nothing_here'));
    res.set({
      'Content-Type': found.content_type,
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
      // Mails and pages of clients show it too.
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'Cache-Control': 'public, max-age=31536000, immutable',
      ETag: `"${id}"`,
    });
    res.send(found.image);
  };
}
