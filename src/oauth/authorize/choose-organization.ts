import type { Request, Response } from 'express';
import { PageError } from '../../errors.js';
import type { Web } from '../../http/web.js';
import { message } from '../../lib/languages/messages.js';
import { proceed, requirePendingRequest } from './authorize.js';
import type { Protocol } from './protocol.js';
import { openPushedRequest } from './pushed-request.js';

/** POST of the chooser: the organization that the person chose, by its name; empty: none. What it may be is judged as if the request had named it. */
export const chooseOrganization = (web: Web, protocol: Protocol) => async (req: Request, res: Response) => {
  const pending = requirePendingRequest(protocol, req, req.form.get('request'));
  const organization = req.form.all['organization'];
  if (organization === undefined) throw new PageError(400, 'invalid_request', message('refusal.no_answer'));
  const sent = { ...((await openPushedRequest(req, pending)) ?? pending), organization };
  await proceed(protocol, web, req, res, sent);
};
