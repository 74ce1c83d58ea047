import type { ResourceObject } from '../../../management/documents.js';
import type { Row } from '../../parts/page-parts.js';
import type { Presentation } from '../../parts/records/presentation.js';
import { code, quiet, stack, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

export const secretLead = 'The signing secret is shown once, on the next page.';

/** The hint of the secret, which is all that anybody may see of it, and when it was made. */
export const secretRow = (a: ResourceObject['attributes'], now: Date): Row => ({
  label: 'Signing secret',
  value: stack(
    code(`whsec_…${words(a['secret_hint'])}`),
    ...(a['secret_rotated_at'] === null
      ? [quiet(terms.shown_once_when_it_was_made)]
      : [quiet('rotated'), time(a['secret_rotated_at'], now)]),
  ),
});

export const secretTexts = (create: string, rotate: string): NonNullable<Presentation['secrets']> => ({
  create: { title: 'Save the signing secret', label: 'Signing secret', text: create },
  rotate_secret: { title: 'Save the new signing secret', label: 'Signing secret', text: rotate },
});
