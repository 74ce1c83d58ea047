import { afterAll, beforeAll } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { startManagedService } from './management.js';
import { startTestService, type TestService } from './service.js';

/**
 * What `make` makes, once for all tests of a file: before the first of them, and before hooks and other shared things that the file names after this.
 * Its members are there from then on. Not for what assigns its own members, nor for classes with private ones.
 * @param end what becomes of it after the last test
 */
export function shared<T extends object>(make: () => Promise<T>, end: (made: T) => unknown = () => {}): T {
  const members = {} as T;
  let made = false;
  beforeAll(async () => {
    const value = await make();
    Object.assign(Object.setPrototypeOf(members, Object.getPrototypeOf(value) as object) as T, value);
    made = true;
  });
  afterAll(async () => {
    if (made) await end(members);
  });
  return members;
}

/** One service for all tests of a file. */
export const sharedService = (start: () => Promise<TestService> = startTestService): TestService =>
  shared(start, (service) => service.stop());

/** One database for all tests of a file. */
export const sharedDatabase = (create: () => Promise<TestDatabase> = createTestDatabase): TestDatabase =>
  shared(create, (database) => database.drop());

/** A shared service whose management client is known. */
export const sharedManagedService = (): TestService => sharedService(startManagedService);

/** The context of the service's default environment. */
export const contextOf = (service: TestService): Context => shared(() => service.context());
