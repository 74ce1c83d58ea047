import type { Call } from '../../../management/call.js';
import { permissionFor } from '../../../management/resource.js';
import type { Selection } from '../page-parts.js';
import { may, resourceOf } from '../records/objects.js';
import type { Presentation } from '../records/presentation.js';
import { terms } from '../words.js';

export const selectedName = (id: string): string => `id:${id}`;

export const selectedIds = (fields: Readonly<Record<string, string>>): readonly string[] =>
  Object.keys(fields).flatMap((name) => (name.startsWith('id:') ? [name.slice(3)] : []));

/** What the form of selected rows is called to send them to: a file, beside what changes them. */
export const exportActs = ['csv', 'json'] as const;

function changesOf(call: Call, { path, selected, actions, remove }: Presentation): Selection['acts'] {
  const resource = resourceOf(call, path);
  if (!selected || !may(call, path, 'write')) return [];
  const { link } = selected;
  const linked = link && resource.relationships[link.name];
  const needs = linked?.kind === 'many' ? (linked.change?.needs ?? []) : [];
  const verbs = selected.acts.flatMap((value) =>
    value === 'delete'
      ? remove && resource.remove
        ? [{ value, label: terms.delete, danger: true }]
        : []
      : [{ value, label: actions?.[value]?.label ?? value, danger: actions?.[value]?.danger ?? false }],
  );
  const mayLink = link !== undefined && needs.every((one) => call.actor.permissions.has(one)) && may(call, link.name, 'read');
  return [...verbs, ...(mayLink ? [{ value: link.name, label: link.label, danger: false }] : [])];
}

/** What the viewer may do with selected rows of the list; null where rows can't be selected. */
export function selectionOf(call: Call, presentation: Presentation): Selection | null {
  const { path, selected } = presentation;
  if (!selected || !call.actor.permissions.has(permissionFor(resourceOf(call, path), 'read'))) return null;
  const files = exportActs.map((value) => ({ value, label: `Export ${value.toUpperCase()}`, danger: false }));
  const changes = changesOf(call, presentation);
  const [quiet, dangerous] = [changes.filter(({ danger }) => !danger), changes.filter(({ danger }) => danger)];
  return { action: `/dashboard/${path}/selected`, acts: [...quiet, ...files, ...dangerous] };
}
