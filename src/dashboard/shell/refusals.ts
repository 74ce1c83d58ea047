import type { ErrorRequestHandler, Request } from 'express';
import { ApiError, PageError } from '../../errors.js';
import type { Render } from '../parts/render.js';
import type { Part } from '../parts/page-parts.js';
import { terms } from '../parts/words.js';

type ShownRefusal = { readonly status: number; readonly title: string; readonly text: string; readonly code: string };

function shownRefusalOf(error: unknown): ShownRefusal | null {
  if (error instanceof PageError && error.status !== 500)
    return {
      status: error.status,
      title: error.status === 404 ? 'Page not found' : 'Something went wrong',
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
      title: 'You don’t have permission',
      text: `This requires the permission ${required.join(' and ')}, which none of your roles has. An administrator can change that.`,
    };
  }
  if (status === 404) return { status, code, title: 'Page not found', text: 'There’s nothing at this address. It may have been deleted.' };
  return { status, code, title: 'Something went wrong', text: detail };
}

/** Refusals behind the gate, in the dashboard's own frame; everything else goes on to the one place that renders errors. */
export function refusals(render: Render): ErrorRequestHandler {
  return (error: unknown, req: Request, res, next) => {
    const refusal = shownRefusalOf(error);
    if (!refusal) return next(error);
    if (res.headersSent || !(req as Partial<Request>).call)
      return next(error instanceof ApiError ? new PageError(refusal.status, refusal.code, refusal.text) : error);
    const retryAfter = error instanceof ApiError ? error.headers['Retry-After'] : undefined;
    if (retryAfter !== undefined) res.set('Retry-After', retryAfter);
    const content: Part[] = [
      { kind: 'text', title: null, paragraphs: [refusal.text] },
      {
        kind: 'summary',
        title: null,
        rows: [
          { label: 'Code', value: { kind: 'code', text: refusal.code } },
          { label: terms.request_id, value: { kind: 'code', text: req.request_id, copy: true } },
        ],
      },
      { kind: 'buttons', links: [{ label: 'Back to the overview', path: '/dashboard' }], posts: [] },
    ];
    render(req, res, { title: refusal.title, parts: content }, refusal.status);
  };
}
