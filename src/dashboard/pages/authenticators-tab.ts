import type { ResourceObject } from '../../management/documents.js';
import type { Part } from '../page-parts.js';
import { recordPath, type ViewContext } from '../presentation.js';
import { listOf } from '../resource-objects.js';
import { quiet, stack, text, time } from '../values.js';
import { authenticators, codesLeft, kindsOf, twoStepState } from './authenticators.js';
import { sentences, terms } from '../words.js';

const most = 50;

/** How a user signs in, as rows of a summary. */
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

/** The tab of a user with what signs the person in beside providers. */
export async function authenticatorsTab(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  const listing = await listOf(look.req.call, authenticators.path, { filters: { user: record.id }, size: most });
  const columns = authenticators.columns.filter(({ label }) => label !== terms.user);
  // Recovery codes stand in for the others: last.
  const last = (one: ResourceObject) => Number(one.attributes['kind'] === 'recovery_codes');
  const rows = [...listing.records]
    .sort((one, other) => last(one) - last(other))
    .map((one) => ({
      path: recordPath(authenticators.path, one.id),
      cells: columns.map((column) => column.value(one, look, listing)),
    }));
  return [
    { kind: 'summary', title: null, rows: signInRows(record, look.now) },
    {
      kind: 'table',
      id: authenticators.path,
      caption: authenticators.title,
      heading: true,
      columns: columns.map(({ label }) => ({ label })),
      rows,
      empty: {
        title: terms.no_sign_in_methods,
        text: sentences.the_person_adds_them_in,
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
            paragraphs: [sentences.open_one_to_rename_or],
          },
        ]),
  ];
}
