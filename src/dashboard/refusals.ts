import type { ErrorRequestHandler, Request } from 'express';
import { ApiError, PageError } from '../errors.js';
import type { Render } from './render.js';
import type { Part } from './page-parts.js';
import { fill, sentences, terms } from './words.js';

type Told = { readonly status: number; readonly title: string; readonly text: string; readonly code: string };

function toldOf(error: unknown): Told | null {
  if (error instanceof PageError && error.status !== 500)
    return {
      status: error.status,
      title: error.status === 404 ? terms.not_found : terms.this_didnt_work,
      text: error.text,
      code: error.code,
    };
  if (!(error instanceof ApiError)) return null;
  const [first] = error.errors;
  if (!first) return null;
  const { status, code, detail } = first;
  if (code === 'insufficient_scope') {
    const required = (first.meta?.['required'] as readonly string[] | undefined) ?? [];
    return {
      status: 403,
      code,
      title: terms.you_may_not_do_this,
      text: fill(sentences.it_needs_the_permission_value, { value: required.join(' and ') }),
    };
  }
  if (status === 404) return { status, code, title: terms.not_found, text: sentences.there_is_nothing_at_this };
  return { status, code, title: terms.this_didnt_work, text: detail };
}

/** Refusals behind the gate, in the dashboard's own frame; everything else goes on to the one place that renders errors. */
export function refusals(render: Render): ErrorRequestHandler {
  return (error: unknown, req: Request, res, next) => {
    const told = toldOf(error);
    if (!told) return next(error);
    if (res.headersSent || !(req as Partial<Request>).call)
      return next(error instanceof ApiError ? new PageError(told.status, told.code, told.text) : error);
    const retryAfter = error instanceof ApiError ? error.headers['Retry-After'] : undefined;
    if (retryAfter !== undefined) res.set('Retry-After', retryAfter);
    const parts: Part[] = [
      { kind: 'text', title: null, paragraphs: [told.text] },
      {
        kind: 'summary',
        title: null,
        rows: [
          { label: terms.code, value: { kind: 'code', text: told.code } },
          { label: terms.request_id, value: { kind: 'code', text: req.request_id, copy: true } },
        ],
      },
      { kind: 'buttons', links: [{ label: terms.back_to_the_overview, path: '/dashboard' }], posts: [] },
    ];
    render(req, res, { title: told.title, parts }, told.status);
  };
}
