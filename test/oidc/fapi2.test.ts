// The modules of the certification plans "FAPI2 Security Profile Final" and "FAPI2 Message Signing Final" for plain FAPI with OpenID Connect,
// `private_key_jwt` and DPoP, by their names.
import { beforeAll, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { addUser } from '../support/data.js';
import { signWithEs256 } from '../support/fapi2.js';
import { sharedService } from '../support/shared-service.js';
import type { Fapi2Module } from './fapi2-checks.js';
import { requestModules } from './fapi2-request-modules.js';
import { Fapi2Run, type Plan } from './fapi2-run.js';
import { signedRequestModules } from './fapi2-signed-modules.js';
import { tokenModules } from './fapi2-token-modules.js';

const service = sharedService();
let user: UserRow;
beforeAll(async () => {
  await signWithEs256(service);
  user = await addUser(await service.context(), { first_name: 'Ada', email: 'ada@bank.example', email_verified: true });
});

const plans: Record<Plan, Readonly<Record<string, Fapi2Module>>> = {
  'security-profile': { ...requestModules, ...tokenModules },
  'message-signing': { ...requestModules, ...tokenModules, ...signedRequestModules },
};

describe.each(Object.entries(plans))('fapi2-%s-final-test-plan', (plan, modules) => {
  test.each(Object.entries(modules))('fapi2-security-profile-final-%s', async (_name, module) => {
    await module(await Fapi2Run.start(service, plan as Plan, user));
  });
});

test('the plans have as many modules as the suite runs of them', () =>
  expect(Object.values(plans).map((modules) => Object.keys(modules).length)).toEqual([56, 70]));
