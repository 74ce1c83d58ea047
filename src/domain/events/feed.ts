import { mayReadEvent } from '../reach/reach-of.js';
import type { Reach } from '../reach/reach.js';
import { eventTypes } from './catalogue.js';

/** What the feed shows: a test of a webhook concerns nobody else (specification 7.6.2). */
export const feedEventTypes: readonly string[] = eventTypes.filter((type) => type !== 'webhook.test');

/** The event types that the actor may follow. */
export const readableEventTypes = (actor: { readonly permissions: Reach }): readonly string[] =>
  feedEventTypes.filter((type) => mayReadEvent(actor, type));
