import type { Request, Response } from 'express';
import { findDelivery } from '../../../db/tables/webhook_deliveries.js';
import { mayReadEvent, permissionsToReadEvent } from '../../../domain/reach/reach-of.js';
import { insufficientScope, notFound } from '../../../management/problems.js';
import { recordOf } from '../../parts/records/objects.js';
import { addressedId } from '../../parts/records/record.js';

/** GET /dashboard/webhook_deliveries/{id}/payload: the bytes that are sent, as a file. @throws {ApiError} 403, 404 */
export async function downloadPayload(req: Request, res: Response): Promise<void> {
  const { record } = await recordOf(req.call, 'webhook_deliveries', addressedId(req));
  const delivery = await findDelivery(req.call.ctx.scope, record.id);
  if (!delivery) throw notFound();
  if (!mayReadEvent(req.call.actor, delivery.event_type)) throw insufficientScope(permissionsToReadEvent(delivery.event_type));
  const name = `${delivery.event_type}-${delivery.event_id}.json`;
  res.set('Content-Disposition', `attachment; filename="${name}"`);
  // Past Express, which would add a charset: JSON has none (RFC 8259 11).
  res.setHeader('Content-Type', 'application/json');
  res.send(Buffer.from(delivery.payload));
}
