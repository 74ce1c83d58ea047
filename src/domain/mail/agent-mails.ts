import { address, textVariable } from './variables.js';

const applications_url = address(
  'The page of what acts for the person.',
  'https://id.example/account/applications',
  'applications.page_title',
);
const application = textVariable('What the application is called.', 'Acme Assistant');

/** Mails of what acts for people; part of the list of all. */
export const agentMails = {
  agent_allowed: {
    title: 'Agent allowed',
    sent: 'When someone allowed an AI agent to act for them for the first time.',
    variables: { application, applications_url },
    needed: ['applications_url'],
  },
  authorization_ended: {
    title: 'Unused access ended',
    sent: 'When an application lost its access because nobody had used it (`unused_authorization_lifetime`).',
    variables: { application, applications_url },
    needed: ['applications_url'],
  },
} as const;
