import type { Request, Response } from 'express';
import { wantsJson } from '../http/request/form.js';
import { catalogueOf, type MessageKey } from '../lib/languages/messages.js';

type DoneName = MessageKey extends infer Key ? (Key extends `done.${infer Name}` ? Name : never) : never;

/** What a page says after something worked; the name travels in the address. */
export const isDone = (name: string): name is DoneName => name !== '' && Object.hasOwn(catalogueOf('en'), `done.${name}`);

const accountPath = (what: string, page = '/account'): string => `${page}?done=${what}`;

/** The answer to what worked: `body` as JSON, with 200 unless told, or back to the page, which says so. */
export function done(req: Request, res: Response, what: string, body: object = {}, status = 200, page?: string): void {
  if (!wantsJson(req)) return res.redirect(303, accountPath(what, page));
  res.status(status).set('Cache-Control', 'no-store').json(body);
}
