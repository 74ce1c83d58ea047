import type { ResourceObject } from '../../../management/documents.js';
import type { Part } from '../../parts/page-parts.js';
import { recordsTable } from '../../parts/page-tables.js';
import type { ViewContext } from '../../parts/records/presentation.js';
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
  const { path, title: caption } = authenticatorsPresentation;
  const listing = await listOf(view.req.call, path, { filters: { user: record.id }, size: most });
  // Recovery codes stand in for the others: last.
  const last = (one: ResourceObject) => Number(one.attributes['kind'] === 'recovery_codes');
  const records = [...listing.records].sort((one, other) => last(one) - last(other));
  return [
    { kind: 'summary', title: null, rows: signInRows(record, view.now) },
    recordsTable(
      view,
      authenticatorsPresentation,
      { ...listing, records },
      {
        id: path,
        caption,
        without: terms.user,
        nothing: ['No sign-in methods', 'People add them in their account. Until then, they sign in with one factor.'],
      },
    ),
    ...(records.length === 0
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
