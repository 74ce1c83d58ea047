import type { ErrorRequestHandler, Request } from 'express';
import { ApiError, PageError } from '../errors.js';
import type { Render } from './render.js';
import type { Part } from './page-parts.js';

type Told = { readonly status: number; readonly title: string; readonly text: string; readonly code: string };

function toldOf(error: unknown): Told | null {
  if (error instanceof PageError && error.status !== 500)
    return { status: error.status, title: error.status === 404 ? 'Not found' : 'This didn’t work', text: error.text, code: error.code };
  if (!(error instanceof ApiError)) return null;
  const [first] = error.errors;
  if (!first) return null;
  const { status, code, detail } = first;
  if (code === 'insufficient_scope') {
    const required = (first.meta?.['required'] as readonly string[] | undefined) ?? [];
    return {
      status: 403,
      code,
      title: 'You may not do this',
      text: `It needs the permission ${required.join(' and ')}, which none of your roles has. An administrator can change that.`,
    };
  }
  if (status === 404) return { status, code, title: 'Not found', text: 'There is nothing at this address. It may have been deleted.' };
  return { status, code, title: 'This didn’t work', text: detail };
}

/** Refusals behind the gate, in the dashboard's own frame; everything else goes on to the one place that renders errors. */
export function refusals(render: Render): ErrorRequestHandler {
  return (error: unknown, req: Request, res, next) => {
    const told = toldOf(error);
    if (!told) return next(error);
    if (res.headersSent || !(req as Partial<Request>).call)
      return next(error instanceof ApiError ? new PageError(told.status, told.code, told.text) : error);
    const parts: Part[] = [
      { kind: 'text', title: null, paragraphs: [told.text] },
      {
        kind: 'summary',
        title: null,
        rows: [
          { label: 'Code', value: { kind: 'code', text: told.code } },
          { label: 'Request id', value: { kind: 'code', text: req.request_id, copy: true } },
        ],
      },
      { kind: 'buttons', links: [{ label: 'To the overview', path: '/dashboard' }], posts: [] },
    ];
    render(req, res, { title: told.title, parts }, told.status);
  };
}
