import type { Request, Response } from 'express';
import { dateTimeWords } from '../../../lib/date-words.js';
import { answerDownload } from '../../../management/download.js';
import { recordPath, type Presentation } from '../../parts/records/presentation.js';
import { resourceOf } from '../../parts/records/objects.js';
import { addressedId } from '../../parts/records/record.js';
import { statusStates, time, words, yesNo } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const exportState = statusStates({ available: ['good', 'Available'], expired: ['quiet', 'Expired'] });

export const userExportsPresentation: Presentation = {
  path: 'user_exports',
  title: 'Exports',
  under: 'users',
  one: 'export',
  lead: 'A file of all users, which you can import here or elsewhere.',
  empty: { title: 'No exports yet', text: 'An export can be downloaded for 15 minutes. Each download is recorded as a security event.' },
  columns: [
    { label: 'Export', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
    { label: 'Password hashes', value: (record) => yesNo(record.attributes['include_password_hashes']) },
    { label: terms.status, value: exportState },
    { label: terms.expires, value: (record, { now }) => time(record.attributes['expires_at'], now) },
  ],
  filters: [],
  name: ({ attributes }) => `Export of ${dateTimeWords(words(attributes['created_at']))}`,
  state: exportState,
  summary: ({ attributes: a }, { now }) => [
    { label: 'Password hashes', value: yesNo(a['include_password_hashes']) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.expires, value: time(a['expires_at'], now) },
    { label: 'Last downloaded', value: time(a['taken_at'], now) },
  ],
  links: ({ attributes: a, id }) => ({
    links: a['status'] === 'available' ? [{ label: 'Download', path: `${recordPath('user_exports', id)}/data`, variant: 'primary' }] : [],
    posts: [],
  }),
  fields: [
    {
      name: 'include_password_hashes',
      label: 'Include password hashes',
      on: 'create',
      hint: 'Users keep their passwords at another service. Anyone who gets the file can try to crack them.',
    },
  ],
  create: {
    label: 'Export users',
    title: 'Export users',
    lead: 'The file contains personal data of every user. It is written when you download it.',
    guarded: true,
    button: 'Continue',
  },
};

/** GET /dashboard/user_exports/{id}/data: the file, as the API answers it. */
export async function downloadUserExport(req: Request, res: Response): Promise<void> {
  await answerDownload(req.call, resourceOf(req.call, 'user_exports'), addressedId(req), res);
}
