import { z } from 'zod';
import { bodyLimits } from '../../http/request/body-limits.js';
import { dropLogo, keepLogo, logoUrl, readLogo } from '../../domain/logos/logos.js';
import { noReach } from '../../domain/reach/reach.js';
import { logosWithoutImages, type LogoRow } from '../../db/tables/logos.js';
import { imageTypes, maxImageBytes, type CheckedImage } from '../../lib/images/image.js';
import { equalTo, isoTime } from '../fields.js';
import { resource } from '../declaration.js';

const contentType = z.enum(imageTypes);

/** Base64 (RFC 4648 4) takes four characters for three bytes. */
const maxCharacters = Math.ceil(maxImageBytes / 3) * 4;

export const logos = resource<LogoRow, { image: string }>({
  type: 'logo',
  path: 'logos',
  description:
    'Images for branding: PNG, JPEG or WebP, at most 512 KiB. The type is told by the content, and the id is the SHA-256 of the image. Put `url` into `branding.logo_url` or `branding.dark_logo_url` of an environment or a client: a logo that no branding names is deleted after 30 days.',
  maxBytes: bodyLimits.logo,
  source: { keyType: 'text', visible: logosWithoutImages },
  attributes: z.object({
    url: z.string().meta({ description: 'Where anybody can see it: the address for a branding.' }),
    content_type: contentType.meta({ description: 'The media type, told by the content.' }),
    size: z.int().meta({ description: 'In bytes.' }),
    created_at: isoTime,
    expires_at: isoTime.nullable().meta({ description: 'When it is deleted unless a branding names it by then; null = one does.' }),
  }),
  computed: { url: (row, ctx) => logoUrl(ctx, row) },
  reach: {
    // An image alone is shown to nobody: naming it takes the permission for what it is the logo of.
    of: () => noReach,
    create: 'plain',
    remove: 'plain',
  },
  hidden: ['image'],
  settable: {
    image: [
      'plain',
      z.base64().min(1).max(maxCharacters).meta({ description: 'The file, in Base64 (RFC 4648 4). Its type is told by its content.' }),
      'needed and fixed',
    ],
  },
  filters: { content_type: equalTo('content_type', contentType, 'The type of the image.') },
  sorts: { created_at: { expression: 'logos.created_at', type: 'timestamptz' } },
  create: {
    prepare: async (_ctx, _actor, { image }) => readLogo(Buffer.from(image, 'base64')),
    run: async (tx, _actor, _input, _related, prepared) => ({ row: await keepLogo(tx, prepared as CheckedImage) }),
  },
  remove: { run: (tx, _actor, row) => dropLogo(tx, row.id) },
  display: (row) => row.id.slice(0, 12),
});
