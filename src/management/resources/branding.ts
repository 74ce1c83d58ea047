import { z } from 'zod';
import { shownName, webUrl } from '../fields.js';

/** How pages and mails look, as environments and clients set it; what is absent or null is the default. */
export const brandingAttributes = {
  name: shownName(100).nullable().optional().meta({ description: 'Whose pages they are.' }),
  logo_url: webUrl.nullable().optional().meta({ description: 'The address of the logo, shown 32 pixels high.' }),
  dark_logo_url: webUrl.nullable().optional().meta({ description: 'The logo for dark schemes; null = `logo_url`.' }),
  primary_color: z
    .string()
    .regex(/^#[0-9a-fA-F]{6}$/, 'must look like #1a2b3c')
    .nullable()
    .optional()
    .meta({ description: 'The colour of buttons and links; texts on and in it are adjusted so that they can be read.' }),
};
