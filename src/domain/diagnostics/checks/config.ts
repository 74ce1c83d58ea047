import { findDataDirectoryProblem } from '../../../db/postgres/embedded/inspect-data-directory.js';
import { isMailSender } from '../../../platform/mailer.js';
import { fixes } from '../../../lib/remedies.js';
import { check, type Found } from '../check.js';
import type { Installation } from '../installation.js';

type Fault = 'wrong' | 'sender' | 'nearby' | 'nearby_set' | 'data_dir';

function variableFaults({ variables, config }: Installation): Found<Fault>[] {
  const wrong = variables.problems.map(({ variables: named, text }): Found<Fault> => {
    const subject = named[0] ?? null;
    return { fault: 'wrong', finding: `${text}.`, fix: subject === null ? null : fixes.variable(subject), subject };
  });
  const sender: Found<Fault>[] = isMailSender(config.emailFrom)
    ? []
    : [
        {
          fault: 'sender',
          finding: 'EMAIL_FROM is no mail address.',
          fix: fixes.setVariable('EMAIL_FROM', `no-reply@${new URL(config.baseUrl).hostname}`),
          subject: 'EMAIL_FROM',
        },
      ];
  const nearby = variables.nearby.map(({ name, meant, isSet }): Found<Fault> => ({
    fault: isSet ? 'nearby_set' : 'nearby',
    finding: `${name} is set, which nobody reads here; the variable is called ${meant}${isSet ? ', and is set too' : ''}.`,
    fix: isSet ? fixes.unsetVariables(name) : fixes.renameVariable(name, meant),
    subject: name,
  }));
  return [...wrong, ...sender, ...nearby];
}

export const configCheck = check({
  id: 'config',
  title: 'Configuration',
  inspects: 'Environment variables, and whether the embedded database can use `DATA_DIR`.',
  okText: 'Every variable is valid.',
  needs: null,
  faults: {
    wrong: {
      level: 'problem',
      when: 'a variable has a value that it can’t have, or two contradict each other',
      why: 'The service does not start: exit code 78.',
      mend: 'the variable; `.env.example` explains each',
    },
    sender: { level: 'problem', when: '`EMAIL_FROM` is no mail address', why: 'The service does not start.', mend: '`EMAIL_FROM`' },
    data_dir: {
      level: 'problem',
      when: '`DATA_DIR` is no directory, can’t be made, hangs (a dead mount), is closed to the user that runs PostgreSQL, or has lost its secret',
      why: 'The embedded database can’t be opened: the service does not start, with exit code 78.',
      mend: 'the directory (`sudo install -d`) or its mode (`chmod`); else another `DATA_DIR`',
    },
    nearby: {
      level: 'warning',
      when: 'an unknown variable has nearly the name of one that isn’t set (`SMTP_URI`)',
      why: 'What was meant to be configured isn’t: the default applies.',
      mend: 'the right name',
    },
    nearby_set: {
      level: 'notice',
      when: 'the same, while the right one is set too',
      why: 'It may belong to another program, or be what somebody believes to have changed.',
      mend: '`unset`',
    },
  },
  async run({ installation }) {
    const found = variableFaults(installation);
    if (installation.config.databaseUrl !== null || installation.variables.problems.some((one) => one.variables.includes('DATABASE_URL')))
      return found;
    const problem = await findDataDirectoryProblem(installation.config.dataDir);
    return problem === null ? found : [...found, { fault: 'data_dir', ...problem, subject: 'DATA_DIR' }];
  },
});
