import { address, durationVariable, flag, optionalText, textVariable } from './variables.js';

/** Mails about domains and organizations; part of `mails`. */
export const domainMails = {
  primary_domain: {
    title: 'Primary domain changed',
    sent: 'To everyone with all permissions, when sign-ins and links in emails move to another address.',
    variables: {
      address: textVariable('The new address.', 'login dot example dot com'),
      by: textVariable('Who changed it.', 'root at example dot com'),
      domains_url: address(
        'The page of the domains in the dashboard.',
        'https://id.example/dashboard/custom_domains',
        'mail.button_domains',
      ),
    },
    needed: ['domains_url'],
  },
  domain_verified: {
    title: 'Domain verified',
    sent: 'To everyone with all permissions, when people can sign in at another domain.',
    variables: {
      address: textVariable('The domain.', 'login dot example dot com'),
      by: textVariable('Who verified it.', 'root at example dot com'),
      domains_url: address(
        'The page of the domains in the dashboard.',
        'https://id.example/dashboard/custom_domains',
        'mail.button_domains',
      ),
    },
    needed: ['domains_url'],
  },
  organization_invitation: {
    title: 'Invitation',
    sent: 'To an address that is invited to an organization.',
    variables: {
      organization: textVariable('The name of the organization.', 'Acme Ltd'),
      inviter: optionalText('Who invites; absent when an application does.', 'Ada Lovelace'),
      expires_in: durationVariable('How long the link is good: “7 days”.', 604_800),
      invitation_url: address(
        'The page that accepts the invitation.',
        'https://id.example/invitations/in_sample',
        'mail.button_invitation',
      ),
    },
    needed: ['invitation_url'],
  },
  domain_record_missing: {
    title: 'Domain record missing',
    sent: 'To administrators, when the DNS record of a custom domain is missing.',
    variables: {
      domain_url: address(
        'The page of the domain in the dashboard.',
        'https://id.example/dashboard/custom_domains/1',
        'mail.button_domains',
      ),
      failed: flag('Whether the environment no longer answers there.', false),
      time_left: durationVariable('After how long it no longer answers there: “7 days”.', 604_800),
    },
    needed: ['domain_url'],
  },
} as const;
