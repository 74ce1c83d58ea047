import type { Request, Response } from 'express';
import type { Context } from '../../domain/context.js';
import type { Visitor } from '../../domain/organizations/just-in-time.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import type { PendingProtocol } from '../../http/request/return-to.js';
import type { Web } from '../../http/web.js';
import type { AuthorizationError } from './authorization-error.js';
import type { SentRequest } from './pending.js';
import type { Addressee, AuthorizationRequest } from './request.js';

/** A protocol in which applications ask for a sign-in: how requests are read, and how they are answered. What happens between is the same for all. */
export type Protocol = {
  readonly name: PendingProtocol;
  /** @throws {PageError} */
  readonly findAddressee: (web: Web, req: Request, sent: SentRequest) => Promise<Addressee>;
  /** @throws {AuthorizationError} */
  readonly validate: (ctx: Context, addressee: Addressee, sent: SentRequest, session: Visitor | null) => Promise<AuthorizationRequest>;
  /** Answers that the person is signed in, and allows it. */
  readonly accept: (web: Web, req: Request, res: Response, accepted: AcceptedRequest) => Promise<void>;
  /** Answers that the request is refused. */
  readonly refuse: (web: Web, req: Request, res: Response, sent: SentRequest, error: AuthorizationError) => Promise<void>;
};

export type AcceptedRequest = { readonly sent: SentRequest; readonly request: AuthorizationRequest; readonly session: BrowserSession };
