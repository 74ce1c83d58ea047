import { address, flag } from './variables.js';

export const reset_url = address('Where the person sets a new password.', 'https://id.example/password/forgot', 'reset.title');

/** Mails about the password of somebody who did not ask for one; part of the list of all. */
export const passwordMails = {
  password_changed: {
    title: 'Password changed',
    sent: 'When someone’s password was changed.',
    variables: { reset_url, administrator: flag('An administrator set the new password, not the person.', false) },
    needed: ['reset_url'],
  },
  password_breached: {
    title: 'Password in a data breach',
    sent: 'When the password that someone signed in with is known from a data breach. Once a password.',
    variables: { reset_url, reset_required: flag('Whether it signs nobody in any more.', true) },
    needed: ['reset_url'],
  },
} as const;
