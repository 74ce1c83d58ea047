import type { Request, Response } from 'express';
import { answerSsoFlow } from '../../db/tables/sso_flows.js';
import { connectionOf, connectionLoginUrl, type Connection } from '../../domain/connections/connections.js';
import { digest } from '../../lib/digest.js';
import { stateShape, flowAad } from '../flow.js';
import { backToSignIn, ssoRefusal } from '../refusal.js';
import { serviceProviderMetadata } from './service-provider.js';

/** The SAML connection of the address; unknown, disabled and other ones are one 404. @throws {PageError} */
async function connectionAt({ ctx, params }: Request<{ connection_id: string }>): Promise<Connection> {
  const connection = await connectionOf(ctx, params.connection_id);
  if (connection?.strategy !== 'saml') throw ssoRefusal('not_found');
  return connection;
}

/**
 * POST /auth/sso/{id}/callback (SAML Bindings 3.5): another site's post carries no cookies of ours, so that the response is kept, sealed and unread, with the
 * flow that RelayState names, and the browser comes in once more by GET. RelayState is never an address. What no flow waits for is dropped unread: with
 * `idp_initiated` the browser sets out for the provider, which then answers what we asked.
 */
export async function consumeAssertion(req: Request<{ connection_id: string }>, res: Response): Promise<void> {
  const { ctx, form } = req;
  res.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  const connection = await connectionAt(req);
  if (form.repeated.has('RelayState') || form.repeated.has('SAMLResponse')) throw ssoRefusal('saml_invalid');
  const [state = '', response = ''] = [form.get('RelayState'), form.get('SAMLResponse')];
  if (response === '') throw ssoRefusal('saml_invalid');
  if (stateShape.test(state)) {
    const answer_sealed = ctx.crypto.sealer.seal(response, flowAad(connection.id));
    const answer = { state_digest: digest(state), connection_id: connection.id, answer_sealed };
    if (await answerSsoFlow(ctx.scope, answer, ctx.clock.now())) return res.redirect(303, `/auth/sso/callback?state=${state}`);
  }
  if (connection.status !== 'enabled') throw ssoRefusal('not_found');
  if (connection.options['idp_initiated'] !== true) throw ssoRefusal('saml_unsolicited', { next: backToSignIn(null) });
  res.redirect(303, connectionLoginUrl(ctx.environment, connection));
}

/** GET /auth/sso/{id}/metadata, while the connection is disabled too: it is set up with it. */
export async function samlMetadata(req: Request<{ connection_id: string }>, res: Response): Promise<void> {
  const connection = await connectionAt(req);
  res.set({ 'Cache-Control': 'no-cache', 'Content-Type': 'application/samlmetadata+xml' });
  res.send(await serviceProviderMetadata(req.ctx, connection));
}
