import { z } from 'zod';
import { durations } from '../../../management/fields.js';
import type { Resource } from '../../../management/resource.js';
import { durationUnits, joinDuration, splitDuration } from './durations.js';
import type { Choice, Field, FieldKind, FieldSection } from '../page-parts.js';
import type { FieldSpec, ViewContext, Presentation } from '../records/presentation.js';
import type { LineSpec } from '../records/line-spec.js';
import type { ResourceObject } from '../../../management/documents.js';
import { durationWords } from '../values.js';
import { named, own } from '../../../lib/named.js';
import { terms } from '../words.js';

type Mode = 'create' | 'update';

/** The contents of a form: text by field name, and the selected values of multi-value fields. */
export type Entries = { readonly texts: Readonly<Record<string, string>>; readonly chosen: Readonly<Record<string, readonly string[]>> };

type Core = { readonly schema: z.ZodType; readonly nullable: boolean; readonly optional: boolean };

function coreOf(schema: z.ZodType): Core {
  let [core, nullable, optional] = [schema, false, false];
  for (;;) {
    if (core instanceof z.ZodOptional) optional = true;
    else if (core instanceof z.ZodNullable) nullable = true;
    else return { schema: core, nullable, optional };
    core = core.unwrap() as z.ZodType;
  }
}

/** The schema of a field: a member of the attributes, or a member of one of those. */
function schemaOf(shape: Readonly<Record<string, z.ZodType>>, name: string): Core | null {
  const [first = '', inner] = name.split('.');
  const outer = shape[first];
  if (!outer) return null;
  const core = coreOf(outer);
  if (inner === undefined) return core;
  const member =
    core.schema instanceof z.ZodRecord
      ? (core.schema.valueType as z.ZodType)
      : core.schema instanceof z.ZodObject
        ? (core.schema.shape[inner] as z.ZodType | undefined)
        : undefined;
  // What is left empty is no member of a record.
  return member ? { ...coreOf(member), optional: true, ...(core.schema instanceof z.ZodRecord && { nullable: true }) } : null;
}

function kindOf(schema: z.ZodType): FieldKind {
  if (schema instanceof z.ZodBoolean) return 'checkbox';
  if (schema instanceof z.ZodNumber) return durations.get(schema) ? 'duration' : 'number';
  if (schema instanceof z.ZodEnum) return 'select';
  if (schema instanceof z.ZodISODateTime) return 'datetime-local';
  if (schema instanceof z.ZodArray) return schema.element instanceof z.ZodEnum ? 'checks' : 'lines';
  if (schema instanceof z.ZodObject || schema instanceof z.ZodRecord) return 'json';
  return 'text';
}

const optionsOf = (schema: z.ZodType): readonly string[] => {
  const core = schema instanceof z.ZodArray ? (schema.element as z.ZodType) : schema;
  return core instanceof z.ZodEnum ? core.options.map(String) : [];
};

/** A field of a form with all that follows from the schema. `needed`: a record is not made without it, so it can't be emptied later. */
export type BoundField = { readonly spec: FieldSpec; readonly kind: FieldKind; readonly core: Core | null; readonly needed: boolean };

const shapeOf = (resource: Resource, mode: Mode) =>
  ((mode === 'create' ? resource.create?.schema : resource.update?.schema)?.shape ?? {}) as Record<string, z.ZodType>;

/** The fields that the form of a resource has: those of the presentation that the schema knows. */
export function boundFields(resource: Resource, fields: readonly FieldSpec[], mode: Mode): BoundField[] {
  const shape = shapeOf(resource, mode);
  const creation = shapeOf(resource, 'create');
  return fields
    .filter((spec) => spec.on === undefined || spec.on === mode)
    .flatMap((spec): BoundField[] => {
      if (spec.relationship)
        return [{ spec, kind: spec.kind ?? (spec.relationship === 'many' ? 'checks' : 'select'), core: null, needed: false }];
      const core = schemaOf(shape, spec.name);
      const needed = spec.needed ?? schemaOf(creation, spec.name)?.optional === false;
      return core ? [{ spec, kind: spec.kind ?? kindOf(core.schema), core, needed }] : [];
    });
}

const member = (attributes: Readonly<Record<string, unknown>>, name: string): unknown => {
  const [first = '', inner] = name.split('.');
  const outer = attributes[first];
  return inner === undefined ? outer : own(outer as Record<string, unknown> | null | undefined, inner);
};

/** The text of a value in a field. Times are in UTC, to the minute. */
export function textOf(kind: FieldKind, value: unknown, line?: LineSpec): string {
  if (value === null || value === undefined) return '';
  if (kind === 'checkbox') return value === true ? 'on' : '';
  if (kind === 'lines') return Array.isArray(value) ? (line ? value.map((one) => line.show(one)) : value).join('\n') : '';
  if (kind === 'datetime-local' && typeof value === 'string') return value.slice(0, 'yyyy-mm-ddThh:mm'.length);
  if (kind === 'json') return JSON.stringify(value, null, 2);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const startOf = (kind: FieldKind, initial: string) => (kind === 'checkbox' ? initial === 'on' : initial);

/** The initial contents of a form: the record's values, or the defaults of a new one. */
export function initialEntries(
  fields: readonly BoundField[],
  record: ResourceObject | null,
  linked: (name: string) => readonly string[] = () => [],
): Entries {
  const texts: Record<string, string> = named();
  const chosen: Record<string, readonly string[]> = named();
  for (const { spec, kind } of fields) {
    const { initial = '' } = spec;
    const found = record ? member(record.attributes, spec.name) : undefined;
    // A member that isn't there is what a new one begins with.
    const value =
      found === undefined && spec.name.includes('.') && typeof initial === 'string' && initial !== '' ? startOf(kind, initial) : found;
    if (kind === 'checks')
      chosen[spec.name] = record
        ? spec.relationship
          ? linked(spec.name)
          : ((value ?? []) as string[])
        : typeof initial === 'string'
          ? []
          : initial;
    else
      texts[spec.name] = record
        ? spec.relationship
          ? (linked(spec.name)[0] ?? '')
          : textOf(kind, value, spec.line)
        : typeof initial === 'string'
          ? initial
          : initial.join('\n');
  }
  return { texts, chosen };
}

export function sentEntries(fields: readonly BoundField[], all: Readonly<Record<string, string>>): Entries {
  const texts: Record<string, string> = named();
  const chosen: Record<string, readonly string[]> = named();
  for (const { spec, kind } of fields) {
    const prefix = `${spec.name}:`;
    if (kind === 'checks')
      chosen[spec.name] = Object.keys(all)
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length));
    else if (kind === 'duration') texts[spec.name] = joinDuration(all[spec.name] ?? '', all[`${spec.name}:unit`]);
    else texts[spec.name] = all[spec.name] ?? '';
  }
  return { texts, chosen };
}

/** The bound of a duration, which nobody wants to find out by a refusal. */
const mostOf = (kind: FieldKind, core: Core | null): string | null => {
  const most = kind === 'duration' && core ? durations.get(core.schema as z.ZodInt)?.most : undefined;
  if (most === undefined) return null;
  return `At most ${durationWords(most)}${core?.nullable ? '; leave it empty for no limit of its own' : ''}.`;
};

function mayStayEmpty({ spec, kind, core, needed }: BoundField, entries: Entries): boolean {
  if (spec.optional !== undefined) return spec.optional;
  if (core === null) return kind === 'checks';
  if (core.nullable || ['checkbox', 'lines', 'json'].includes(kind)) return true;
  // What is never shown again, a secret, is empty here and may stay so; a number that is set can only become another.
  const fixed = needed || kind === 'number' || kind === 'duration';
  return core.optional && spec.initial === undefined && !['select', 'radios'].includes(kind) && !(fixed && entries.texts[spec.name]);
}

/** What stands first in a choice: nothing, where it may be nothing. */
function blankOf({ spec, kind, core }: BoundField, entries: Entries): readonly Choice[] {
  // Which record it is about is for the administrator to say, not for the order of the list.
  if (spec.relationship === 'one' && (spec.optional || !entries.texts[spec.name]))
    return [{ value: '', label: spec.optional ? terms.none : 'Choose one' }];
  return core?.nullable && kind === 'select' ? [{ value: '', label: 'Not set' }] : [];
}

async function fieldOf(view: ViewContext, bound: BoundField, entries: Entries, error: string | null): Promise<Field> {
  const { spec, kind, core } = bound;
  const value = entries.texts[spec.name] ?? '';
  const choices = spec.choices
    ? await spec.choices(view)
    : optionsOf(core?.schema ?? z.string()).map((option) => ({ value: option, label: option }));
  return {
    kind,
    name: spec.name,
    label: spec.label,
    attribute: spec.name,
    hint: spec.hint ?? mostOf(kind, core),
    optional: mayStayEmpty(bound, entries),
    value,
    chosen: entries.chosen[spec.name] ?? [],
    choices: [...blankOf(bound, entries), ...choices],
    error,
    attributes: spec.attributes ?? {},
    ...(spec.link && { link: spec.link(view) ?? undefined }),
    ...(kind === 'lines' && (!spec.line || spec.line.rows) && { rows: true }),
    ...(kind === 'duration' && { duration: { ...splitDuration(value), units: durationUnits } }),
  };
}

export async function fieldSections(
  view: ViewContext,
  presentation: Pick<Presentation, 'sections'>,
  fields: readonly BoundField[],
  entries: Entries,
  errors: Readonly<Record<string, string>>,
): Promise<FieldSection[]> {
  const built = await Promise.all(
    fields.map(async (bound) => ({
      section: bound.spec.section,
      field: await fieldOf(view, bound, entries, errors[bound.spec.name] ?? null),
    })),
  );
  const names = [undefined, ...(presentation.sections ?? []).map((section) => section.title)];
  return names
    .map((title): FieldSection => {
      const spec = presentation.sections?.find((one) => one.title === title);
      const inside = built.filter(({ section }) => section === title).map(({ field }) => field);
      return { title: title ?? null, text: spec?.text ?? null, fields: inside, folded: spec?.folded ?? false };
    })
    .filter((section) => section.fields.length > 0);
}
