import { Router } from 'express';
import { browserSession } from '../../http/auth/browser-session.js';
import { csrf } from '../../http/auth/csrf.js';
import { heldNames, limitProofs } from '../../http/confirmation/confirmation.js';
import { form } from '../../http/request/form.js';
import { route } from '../../http/routes.js';
import type { Web } from '../../http/web.js';
import { decideApproval } from './decide.js';
import { approvalPage, signedInForApproval } from './page.js';

/** Where people answer what clients ask them elsewhere. */
export function approvalsRouter(web: Web): Router {
  const router = Router({ caseSensitive: true });
  route(router, '/approvals/:id', {
    get: [browserSession, signedInForApproval, approvalPage(web)],
    post: [form, browserSession, signedInForApproval, csrf, ...limitProofs(web, heldNames), decideApproval(web)],
  });
  return router;
}
