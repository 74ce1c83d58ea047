// What lists tell an organization's administrator of the rest of the environment: nothing (attack 73.1989).
import { expect, test } from 'vitest';
import { countRecords } from '../../src/management/records.js';
import { areTooMany } from '../../src/management/list-order.js';
import { connections } from '../../src/management/resources/connections.js';
import type { Resource } from '../../src/management/resource.js';
import { inOrganization } from '../../src/domain/context.js';
import { addConnection } from '../support/connections.js';
import { addOrganization } from '../support/directories.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const resource = connections as unknown as Resource;

test('an organization’s lists are counted, and judged too long, by its own records alone (attack 73.1989)', async () => {
  const organization = await addOrganization(ctx);
  await addConnection(ctx);
  await addConnection(ctx, { organization_id: organization.id });
  const request = { conditions: [], sort: [], size: 25, after: null, before: null };
  const theirs = inOrganization(ctx, organization.id);
  expect([await countRecords(ctx, resource, request, 10), await countRecords(theirs, resource, request, 10)]).toEqual([2, 1]);
  await ctx.cache.get(ctx.environment.id, 'long_lists', 'connections', async () => true);
  expect([await areTooMany(ctx, resource), await areTooMany(theirs, resource)]).toEqual([true, false]);
});
