import type { ResourceObject } from '../../../management/documents.js';
import type { Part } from '../../parts/page-parts.js';
import { recordPath, type ViewContext } from '../../parts/records/presentation.js';
import { listOf } from '../../parts/records/objects.js';
import { quiet, stack, text, time } from '../../parts/values.js';
import { authenticatorsPresentation, codesLeft, kindsOf, twoStepState } from './authenticators.js';
import { terms } from '../../parts/words.js';

const most = 50;

function signInRows({ attributes: a }: ResourceObject, now: Date) {
  const kinds = kindsOf(a);
  return [
    {
      label: terms.password,
      value: a['has_password'] === true ? stack(text(terms.set), time(a['password_changed_at'], now)) : quiet(terms.none),
    },
    { label: terms.multi_factor_authentication, value: twoStepState(a) },
    { label: terms.recovery_codes, value: kinds.includes('recovery_codes') ? codesLeft(a['recovery_codes_left']) : quiet(terms.none) },
  ];
}

export async function authenticatorsTab(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const listing = await listOf(view.req.call, authenticatorsPresentation.path, { filters: { user: record.id }, size: most });
  const columns = authenticatorsPresentation.columns.filter(({ label }) => label !== terms.user);
  // Recovery codes stand in for the others: last.
  const last = (one: ResourceObject) => Number(one.attributes['kind'] === 'recovery_codes');
  const rows = [...listing.records]
    .sort((one, other) => last(one) - last(other))
    .map((one) => ({
      path: recordPath(authenticatorsPresentation.path, one.id),
      cells: columns.map((column) => column.value(one, view, listing)),
    }));
  return [
    { kind: 'summary', title: null, rows: signInRows(record, view.now) },
    {
      kind: 'table',
      id: authenticatorsPresentation.path,
      caption: authenticatorsPresentation.title,
      heading: true,
      columns: columns.map(({ label }) => ({ label })),
      rows,
      empty: {
        title: 'No sign-in methods',
        text: 'People add them in their account. Until then, they sign in with one factor.',
        button: null,
      },
      pager: null,
    },
    ...(rows.length === 0
      ? []
      : [
          {
            kind: 'text' as const,
            title: null,
            paragraphs: ['Open one to rename or remove it. To reset all of them, use the user’s overview.'],
          },
        ]),
  ];
}
