import type { Request, Response } from 'express';
import type { WriteResult } from '../../../management/write-state.js';
import type { Render } from '../render.js';
import type { Part } from '../page-parts.js';
import type { Presentation } from '../records/presentation.js';
import { inWords } from '../values.js';

/** Every text among the values that are shown once, by its name. */
function secretsIn(value: unknown, name = ''): [string, string][] {
  if (typeof value === 'string') return [[name, value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => secretsIn(one, key));
}

/**
 * The answer to the form that made a secret: the one page that shows it. It stays out of every address, cookie, cache and log; sending the
 * form again leads to the record, which shows the hint alone.
 */
export function secretPage(
  render: Render,
  req: Request,
  res: Response,
  presentation: Presentation,
  verb: string,
  outcome: Pick<WriteResult, 'once' | 'meta'>,
  path: string,
  after: readonly Part[] = [],
): void {
  const texts = presentation.secrets?.[verb];
  const secretParts = secretsIn({ ...outcome.once, ...outcome.meta }).map(([name, secret]): Part => {
    const isSecret = /secret|token|^url$/.test(name);
    return {
      kind: 'secret',
      id: `secret-${name}`,
      label: texts && isSecret ? texts.label : inWords(name),
      secret,
      text: isSecret ? (texts?.text ?? 'Keep it like a password.') : '',
    };
  });
  const notice: Part = { kind: 'notice', tone: 'warning', text: 'Copy it now. You won’t be able to see it again.' };
  const done: Part = {
    kind: 'buttons',
    links: [{ label: 'I have saved it', path: texts?.next === undefined ? path : `${path}/${texts.next}`, variant: 'primary' }],
    posts: [],
  };
  render(req, res, {
    title: texts?.title ?? 'Save this now',
    lead: texts?.lead ?? null,
    crumbs: [{ label: presentation.title, path: `/dashboard/${presentation.path}` }],
    parts: [notice, ...secretParts, ...after, done],
  });
}
