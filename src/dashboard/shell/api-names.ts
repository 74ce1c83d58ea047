import type { Request, Response } from 'express';
import { clearCookie, cookieName, readCookie, setCookie } from '../../http/request/cookies.js';
import { safeReturnTo } from '../../http/request/return-to.js';

const name = 'dashboard_api_names';
/** A year. */
const remembered = 365 * 86_400;

/** Whether labels have the API's names beside them, for those who script what the pages do. Chosen in each browser; at first they haven't. */
export const showsApiNames = (req: Request): boolean => readCookie(req, cookieName(req, name)) === 'on';

/** POST /dashboard/preferences/api_names: shows them or not from now on, and goes back to the page. */
export function chooseApiNames(req: Request, res: Response): void {
  if (req.form.get('shown') === 'on') setCookie(req, res, name, 'on', remembered);
  else clearCookie(req, res, name);
  res.redirect(303, safeReturnTo(req.form.get('return_to')) ?? '/dashboard');
}
