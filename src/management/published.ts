import type { Request, Response } from 'express';
import type { Environment } from '../domain/environment.js';
import { codedTag, codingFor, createCoded, type Coded, type Coding } from '../http/content-coding.js';
import { MethodNotAllowedError } from '../http/routes.js';
import { send, unlessKnown } from './reply.js';

type PublishedText = { readonly body: string; readonly etag: string };

/** A document that anybody may read, with its ETag. The same text is the same object. */
export type Published = {
  readonly textOf: (environment: Environment) => PublishedText;
  readonly headers: Readonly<Record<string, string>>;
};

/** Answers with published documents, compressed for whoever takes that (RFC 9110 8.4.1); what was compressed is kept as long as its text. */
export function createPublishing() {
  const coded = new WeakMap<PublishedText, Coded>();
  function codedBy(text: PublishedText, coding: Coding): Promise<Buffer> {
    const known = coded.get(text) ?? createCoded(Buffer.from(text.body));
    coded.set(text, known);
    return known(coding);
  }

  return async ({ textOf, headers: own }: Published, req: Request, res: Response): Promise<void> => {
    if (req.method !== 'GET' && req.method !== 'HEAD') throw new MethodNotAllowedError('GET, HEAD');
    const text = textOf(req.ctx.environment);
    const coding = codingFor(req);
    res.vary('Accept-Encoding');
    const all = {
      'Content-Type': 'application/json',
      'Cache-Control': 'public, max-age=300',
      ETag: codedTag(text.etag, coding),
      ...(coding !== null && { 'Content-Encoding': coding }),
    };
    const reply = unlessKnown(req, { status: 200, headers: all, body: text.body });
    const body = coding === null || reply.status === 304 ? reply.body : await codedBy(text, coding);
    send(res, { ...reply, headers: { ...reply.headers, ...own, Vary: String(res.getHeader('Vary')) }, body });
  };
}
