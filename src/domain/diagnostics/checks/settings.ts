import { listEnvironments } from '../../../db/tables/environments.js';
import { isPublicDevelopment } from '../../environments/exposure.js';
import { fixes } from '../../../lib/remedies.js';
import { check, cliOn, type Found } from '../check.js';

type Fault = 'limits' | 'lockout' | 'development' | 'mailbox' | 'private_network';

const most = 100;

export const settingsCheck = check({
  id: 'settings',
  title: 'Settings',
  inspects: 'Variables and settings that are weak in production.',
  okText: 'No setting is weaker than it should be.',
  needs: 'schema',
  variables: ['RATE_LIMITS', 'ALLOW_PRIVATE_NETWORK', 'DEV_MAILBOX', 'BASE_URL'],
  faults: {
    limits: {
      level: 'warning',
      when: '`RATE_LIMITS=off` with an environment of kind `production`',
      why: 'Passwords and codes may be guessed as fast as the service answers; only the lockout of the account is left.',
      mend: '`RATE_LIMITS=on`',
    },
    lockout: {
      level: 'warning',
      when: 'an environment of kind `production` locks accounts after more than 100 wrong passwords',
      why: 'A password may be guessed that often before anything happens.',
      mend: '`npm run -s cli -- environments update <id> --lockout-threshold 10`',
    },
    development: {
      level: 'warning',
      when: 'an environment is of kind `development` under a public `BASE_URL`',
      why: 'It has the defaults of development: weaker than production’s.',
      mend: '`npm run -s cli -- environments update <id> --kind production`',
    },
    private_network: {
      level: 'notice',
      when: '`ALLOW_PRIVATE_NETWORK=on` with a public `BASE_URL`',
      why: 'Whoever may make webhooks and connections has requests sent into the private network.',
      mend: '`ALLOW_PRIVATE_NETWORK=off`, unless receivers are there',
    },
    mailbox: {
      level: 'notice',
      when: '`DEV_MAILBOX=on`',
      why: 'Whoever reaches the port reads every mail, one-time codes and all.',
      mend: '`DEV_MAILBOX=local`',
    },
  },
  async run({ installation, database }) {
    const { config } = installation;
    const environments = await database((trx) => listEnvironments(trx));
    const production = environments.filter(({ kind }) => kind === 'production');
    const found: Found<Fault>[] = [];
    if (!config.rateLimits.enabled && production.length > 0)
      found.push({ fault: 'limits', finding: 'RATE_LIMITS is off.', fix: fixes.setVariable('RATE_LIMITS', 'on'), subject: 'RATE_LIMITS' });
    for (const { id, slug, lockout_threshold } of production.filter((one) => one.lockout_threshold > most)) {
      const finding = `The environment ${slug} locks an account after ${lockout_threshold} wrong passwords only.`;
      found.push({
        fault: 'lockout',
        finding,
        fix: fixes.updateRecord(cliOn(installation, 'default'), 'environments', id, 'lockout-threshold', '10'),
        subject: `environments/${id}`,
      });
    }
    for (const { id, slug } of environments.filter((one) => isPublicDevelopment(config, one))) {
      const finding = `The environment ${slug} is of kind development, and ${config.baseUrl} is public.`;
      found.push({
        fault: 'development',
        finding,
        fix: fixes.updateRecord(cliOn(installation, 'default'), 'environments', id, 'kind', 'production'),
        subject: `environments/${id}`,
      });
    }
    if (config.allowPrivateNetwork && !config.loopback)
      found.push({
        fault: 'private_network',
        finding: 'Webhooks and connections may lead into the private network.',
        fix: fixes.setVariable('ALLOW_PRIVATE_NETWORK', 'off'),
        subject: 'ALLOW_PRIVATE_NETWORK',
      });
    if (config.devMailbox === 'on')
      found.push({
        fault: 'mailbox',
        finding: 'DEV_MAILBOX=on shows captured mail to every caller.',
        fix: fixes.setVariable('DEV_MAILBOX', 'local'),
        subject: 'DEV_MAILBOX',
      });
    return found;
  },
});
