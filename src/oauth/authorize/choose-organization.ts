import type { Request, Response } from 'express';
import { PageError } from '../../errors.js';
import type { Web } from '../../http/web.js';
import { message } from '../../lib/languages/messages.js';
import { proceed, requirePendingRequest } from './authorize.js';
import { openPushedRequest } from './pushed-request.js';

/** POST /oauth/organization: the organization that the person chose, by its name; empty: none. What it may be is judged as if the request had named it. */
export function chooseOrganization(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const pending = requirePendingRequest(req, req.form.get('request'));
    const organization = req.form.all['organization'];
    if (organization === undefined) throw new PageError(400, 'invalid_request', message('refusal.no_answer'));
    const sent = { ...((await openPushedRequest(req, pending)) ?? pending), organization };
    await proceed(web, req, res, sent);
  };
}
