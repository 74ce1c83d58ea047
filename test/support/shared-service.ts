import { afterAll, beforeAll } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { startManagedService } from './management.js';
import { startTestService, type TestService } from './service.js';

/**
 * One service for all tests of a file: started before the first of them and before hooks that the file adds later, stopped after the last and after
 * their ends. Its members are there from then on.
 */
export function sharedService(start: () => Promise<TestService> = startTestService): TestService {
  const service = {} as TestService;
  beforeAll(async () => {
    Object.assign(service, await start());
  });
  // Where it didn't start there is nothing to stop.
  afterAll(() => (service as Partial<TestService>).stop?.());
  return service;
}

/** The same whose management client is known. */
export const sharedManagedService = (): TestService => sharedService(startManagedService);

/**
 * The context of the service's default environment, or of the one that `make` makes, for all tests of a file: its members are there from the
 * first hook that comes after this on.
 */
export function contextOf(service: TestService, make: () => Promise<Context> = () => service.context()): Context {
  const ctx = {} as Context;
  beforeAll(async () => {
    Object.assign(ctx, await make());
  });
  return ctx;
}
