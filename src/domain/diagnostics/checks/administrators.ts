import { findDefaultEnvironment } from '../../../db/tables/environments.js';
import { countHoldersByEnvironment } from '../../../db/tables/roles.js';
import { createScope } from '../../../db/scope.js';
import { findUserByEmailKey } from '../../../db/tables/users.js';
import { normalizeEmail } from '../../../lib/email-address.js';
import { administratorRole } from '../../reach/management-permissions.js';
import { fixes } from '../../../lib/remedies.js';
import { check, cliOn, type Found, type CheckContext } from '../check.js';

type Fault = 'none' | 'one' | 'one_in_development' | 'password' | 'password_in_development';

/** Whether ADMIN_PASSWORD still opens the account of ADMIN_EMAIL. */
async function isPasswordValid({ installation, database }: CheckContext): Promise<boolean> {
  const { admin } = installation.config;
  const address = admin && normalizeEmail(admin.email);
  if (!admin || !address) return false;
  const user = await database(async (trx) => {
    const environment = await findDefaultEnvironment(trx);
    return environment && findUserByEmailKey(createScope(trx, environment.id), address.email_key);
  });
  return user?.password_hash != null && installation.passwords.verify(user.password_hash, admin.password);
}

export const administratorsCheck = check({
  id: 'administrators',
  title: 'Administrators',
  inspects: 'How many active users are `administrator` of the default environment, and whether `ADMIN_PASSWORD` still signs in.',
  okText: 'More than one person can administer the service.',
  needs: 'schema',
  variables: ['ADMIN_EMAIL', 'ADMIN_PASSWORD'],
  faults: {
    none: {
      level: 'problem',
      when: 'nobody holds the role',
      why: 'Nobody can sign in to change anything.',
      mend: '`ADMIN_EMAIL` and `ADMIN_PASSWORD` before a start, or `npm run -s cli -- create-administrator <email>`',
    },
    one: {
      level: 'warning',
      when: 'only one does, and the environment is not of kind `development`',
      why: 'Whoever loses their password, phone or job takes the service along.',
      mend: '`npm run -s cli -- create-administrator <email>`',
    },
    one_in_development: { level: 'notice', when: 'the same in development', why: 'In production it would be a warning.', mend: 'the same' },
    password: {
      level: 'warning',
      when: '`ADMIN_PASSWORD` is still the password of `ADMIN_EMAIL`, and the environment is not of kind `development`',
      why: 'Everyone who can see the configuration can read it.',
      mend: 'another password at `/account`; then `ADMIN_EMAIL` and `ADMIN_PASSWORD` may go',
    },
    password_in_development: {
      level: 'notice',
      when: 'the same in development',
      why: 'In production it would be a warning.',
      mend: 'the same',
    },
  },
  async run(context) {
    const { installation, database } = context;
    const [own] = await database((trx) => countHoldersByEnvironment(trx, administratorRole));
    const fix = fixes.createAdministrator(cliOn(installation, 'default'));
    const found: Found<Fault>[] = [];
    const subject = 'roles/administrator';
    if (own?.holders === 0) found.push({ fault: 'none', finding: 'Nobody administers the service.', fix, subject });
    if (own?.holders === 1) {
      const fault = own.kind === 'development' ? 'one_in_development' : 'one';
      found.push({ fault, finding: 'Only one person administers the service.', fix, subject });
    }
    if (await isPasswordValid(context)) {
      const finding = `ADMIN_PASSWORD still signs in: change that password at ${installation.config.baseUrl}/account.`;
      const fault = own?.kind === 'development' ? 'password_in_development' : 'password';
      found.push({ fault, finding, fix: fixes.unsetVariables('ADMIN_EMAIL', 'ADMIN_PASSWORD'), subject: 'ADMIN_PASSWORD' });
    }
    return found;
  },
});
