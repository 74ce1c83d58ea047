import type { Request, Response } from 'express';
import { holdsEverything } from '../../../domain/reach/reach.js';
import { perform } from '../../../management/write-steps.js';
import { notFound } from '../../../management/problems.js';
import { brandingPreview } from '../branding/branding-preview.js';
import { uploadParts } from '../branding/upload-parts.js';
import { exposureNotice } from '../overview/exposure-notice.js';
import { factorNotice } from '../overview/factor-notice.js';
import { type BoundField, boundFields, fieldSections, initialEntries, sentEntries, type Entries } from '../../parts/forms/fields.js';
import { readForm } from '../../parts/forms/input.js';
import { managedNotice } from '../../parts/records/managed-notice.js';
import type { Part } from '../../parts/page-parts.js';
import type { FormSubject, ViewContext } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { may, recordOf, resourceOf, recordVersion } from '../../parts/records/objects.js';
import { attempt } from '../../parts/forms/create.js';
import { secretKeyPart } from './secret-key-part.js';
import { settingsPath, settingsSubjects } from './sections.js';
import { code, text } from '../../parts/values.js';
import type { Render } from '../../parts/render.js';
import { terms } from '../../parts/words.js';

const guarded =
  ' Security settings (lifetimes, passwords, passkeys, codes, second factors, lockout, environment type) require every permission, which you don’t have.';

type Failed = { readonly entries: Entries; readonly errors: Record<string, string> };

/** A page that can only be read: its sections, or itself. */
function summaries(view: ViewContext, { title, sections }: FormSubject, fields: readonly BoundField[], entries: Entries): Promise<Part[]> {
  const titles = sections?.map((section) => section.title) ?? [undefined];
  return Promise.all(
    titles.map(async (section): Promise<Part> => {
      const rows = fields
        .filter(({ spec }) => spec.section === section)
        .map(async ({ spec }) => {
          const value = entries.texts[spec.name];
          const choice = (await spec.choices?.(view))?.find((one) => one.value === value);
          return { label: spec.label, value: text(choice?.label ?? (value === 'on' ? terms.yes : value)) };
        });
      return { kind: 'summary', title: section ?? title, rows: await Promise.all(rows) };
    }),
  );
}

/** What can't be set. */
const factsOf = (record: ResourceObject): Part => ({
  kind: 'summary',
  title: null,
  rows: [
    { label: terms.issuer, value: code(record.attributes['issuer'], true) },
    { label: terms.slug, value: code(record.attributes['slug']) },
    { label: terms.id, value: code(record.id, true) },
  ],
});

async function show(
  render: Render,
  req: Request,
  res: Response,
  subject: FormSubject,
  record: ResourceObject,
  failed: Failed | null,
  status: number,
): Promise<void> {
  const { call } = req;
  const view: ViewContext = { req, now: call.ctx.clock.now() };
  const fields = boundFields(resourceOf(call, 'environments'), subject.fields, 'update');
  const entries = failed?.entries ?? initialEntries(fields, record);
  const errors = failed?.errors ?? {};
  const form = async (): Promise<Part> => ({
    kind: 'form',
    id: subject.name,
    action: `/dashboard/settings/${subject.name}`,
    hidden: { _version: String(recordVersion(record)) },
    sections: await fieldSections(view, subject, fields, entries, errors),
    button: { label: 'Save', variant: 'primary' },
    cancel: null,
    bar: true,
    preview: brandingPreview(entries.texts),
  });
  const isFirst = subject === settingsSubjects[0];
  render(
    req,
    res,
    {
      title: terms.settings,
      document_title: `${subject.title} · ${terms.settings}`,
      lead: `${subject.text ?? ''}${holdsEverything(call.actor) ? '' : guarded}`,
      errors,
      labels: Object.fromEntries(fields.map(({ spec }) => [spec.name, spec.label])),
      parts: [
        ...(isFirst ? exposureNotice(req.ctx) : []),
        ...(await managedNotice(call, 'environment', req.ctx.environment.id)),
        ...(isFirst ? [...(await factorNotice(call)), factsOf(record)] : []),
        ...(may(call, 'environments', 'write') ? [await form()] : await summaries(view, subject, fields, entries)),
        ...(subject.name === 'branding' ? uploadParts(view, 'environments', record) : []),
        ...(isFirst ? await secretKeyPart(req.ctx) : []),
      ],
    },
    status,
  );
}

/** The page that the address names; without a name the first. @throws {ApiError} 404 */
function addressedSubject({ params }: Request): FormSubject {
  const { section } = params;
  const subject = section === undefined ? settingsSubjects[0] : settingsSubjects.find(({ name }) => name === section);
  if (!subject) throw notFound(terms.nothing_here);
  return subject;
}

/** GET /dashboard/settings, /dashboard/settings/{section} */
export const settingsPage = (render: Render) => async (req: Request, res: Response) => {
  const subject = addressedSubject(req);
  const { record } = await recordOf(req.call, 'environments', req.ctx.environment.id);
  await show(render, req, res, subject, record, null, 200);
};

/** POST /dashboard/settings/{section}: what the page has, and nothing else. */
export const saveSettings = (render: Render) => async (req: Request, res: Response) => {
  const subject = addressedSubject(req);
  const resource = resourceOf(req.call, 'environments');
  const { record, row: seen } = await recordOf(req.call, 'environments', req.ctx.environment.id);
  const fields = boundFields(resource, subject.fields, 'update');
  const entries = sentEntries(fields, req.form.all);
  const { document } = readForm(resource, fields, entries, record);
  const expected = [Number(req.form.get('_version') ?? 0)];
  const write = { kind: 'update', resource, id: record.id, document, seen, expected } as const;
  const result = await attempt(fields, entries, () => perform(req.call, write));
  if (!('errors' in result)) return res.redirect(303, `${settingsPath(subject)}?done=updated`);
  const changed = {
    form: 'Someone else changed the settings in the meantime. Your changes are still here: check them, then save again.',
  };
  const isOutdated = result.status === 412;
  const failed = { entries, errors: isOutdated ? changed : result.errors };
  await show(render, req, res, subject, record, failed, isOutdated ? 409 : result.status);
};
