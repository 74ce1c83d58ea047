import type { Request, Response } from 'express';
import type { WriteResult } from '../management/operations.js';
import type { Render } from './render.js';
import type { Part } from './page-parts.js';
import type { Presentation } from './presentation.js';
import { inWords } from './values.js';
import { sentences, terms } from './words.js';

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
  const parts = secretsIn({ ...outcome.once, ...outcome.meta }).map(([name, secret]): Part => {
    const isSecret = /secret/.test(name);
    return {
      kind: 'secret',
      id: `secret-${name}`,
      label: texts && isSecret ? texts.label : inWords(name),
      secret,
      text: isSecret ? (texts?.text ?? sentences.keep_it_like_a_password) : '',
    };
  });
  const notice: Part = {
    kind: 'notice',
    tone: 'warning',
    text: sentences.this_is_the_only_time,
  };
  const done: Part = {
    kind: 'buttons',
    links: [{ label: terms.i_have_saved_it, path: texts?.next === undefined ? path : `${path}/${texts.next}`, variant: 'primary' }],
    posts: [],
  };
  render(req, res, {
    title: texts?.title ?? terms.save_this_now,
    lead: texts?.lead ?? null,
    crumbs: [{ label: presentation.title, path: `/dashboard/${presentation.path}` }],
    parts: [notice, ...parts, ...after, done],
  });
}
