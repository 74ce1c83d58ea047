import { z } from 'zod';
import { fontNames } from '../../lib/fonts.js';
import { shownName, webUrl } from '../fields.js';

const color = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, 'must look like #1a2b3c')
  .nullable()
  .optional();

export const maxCornerRadius = 24;

/** How pages and mails look, as environments and clients set it; what is absent or null is the default. */
export const brandingAttributes = {
  name: shownName(100).nullable().optional().meta({ description: 'Whose pages they are.' }),
  logo_url: webUrl.nullable().optional().meta({ description: 'The address of the logo, shown 32 pixels high.' }),
  dark_logo_url: webUrl.nullable().optional().meta({ description: 'The logo for dark schemes; null = `logo_url`.' }),
  favicon_url: webUrl.nullable().optional().meta({ description: 'The address of the icon that browsers show in tabs.' }),
  primary_color: color.meta({ description: 'The colour of buttons and links; texts on and in it are adjusted so that they can be read.' }),
  dark_primary_color: color.meta({ description: 'The same in dark schemes; null = a lighter `primary_color`.' }),
  background_color: color.meta({ description: 'The colour around the form, and of mails around their text.' }),
  dark_background_color: color.meta({ description: 'The same in dark schemes.' }),
  corner_radius: z
    .int()
    .min(0)
    .max(maxCornerRadius)
    .nullable()
    .optional()
    .meta({ description: 'How round buttons and fields are, in pixels; null = 8. Cards are half as round again.' }),
  font: z.enum(fontNames).nullable().optional().meta({ description: 'A family of fonts that devices have; null = `system`.' }),
};
