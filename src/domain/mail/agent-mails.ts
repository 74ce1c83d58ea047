import { address, durationVariable, messageVariable, textVariable } from './variables.js';

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
  approval_requested: {
    title: 'Approval requested',
    sent: 'When an application asks someone to approve something who is elsewhere (CIBA).',
    variables: {
      application,
      binding_message: messageVariable(
        'What the application says that it is about; absent when it says nothing.',
        'Pay 49.90 EUR to Acme Travel',
      ),
      approval_url: address(
        'The page that asks.',
        'https://id.example/approvals/0195e8a2-6f00-7000-8000-000000000151',
        'mail.button_approval',
      ),
      expires_in: durationVariable('How long it can be answered: “10 minutes”.', 600),
      applications_url,
    },
    needed: ['approval_url'],
  },
  authorization_ended: {
    title: 'Unused access ended',
    sent: 'When an application lost its access because nobody had used it (`unused_authorization_lifetime`).',
    variables: { application, applications_url },
    needed: ['applications_url'],
  },
} as const;
