/** What attributes of organizations and of what belongs to them mean; part of `attributeTexts`. */
export const organizationAttributeTexts = {
  organization: {
    display_name: 'What people see.',
    external_id: 'The id in another system; unique in the environment. null = none.',
    logo_url: 'Of `branding`: the address of the logo; null = that of the environment.',
    primary_color: 'Of `branding`: the colour of buttons and links; null = that of the environment.',
    required_acr: 'How its people have to sign in, as of a client; never less than the environment asks for. null = as that asks.',
    max_authentication_age: 'How old a sign-in for it may be, in seconds; null = as the environment says.',
    metadata: 'Your own data.',
  },
  organization_membership: {
    status: '`suspended`: the member does not get in, and tokens of the organization are worth nothing.',
    source: 'What made the user a member.',
  },
  organization_invitation: {
    email: 'To whom the mail goes. Only a user with this very address, verified, can accept.',
    status: '`expired`: nobody accepted in time; it can be sent again.',
    sent_at: 'When the mail was last asked for.',
    expires_at: 'Until when the link is good.',
  },
  organization_domain: {
    status: '`pending` until the record was found; `failed` once a verified domain went without it for two weeks.',
    verification_records: 'What the owner puts into the zone of the domain.',
    verified_at: 'When the record was found; null = not yet.',
    last_checked_at: 'When it was last looked for; null = not yet.',
    failure_reason: 'Why it was not found the last time; null = it was.',
  },
  setup_link: {
    status: '`started` once it was opened, `finished` once whoever has it said so. Only the first two are good.',
    expires_at: 'Until when it is good.',
    started_at: 'When it was opened: since then it is that browser’s; null = not yet.',
    finished_at: 'When the set-up was finished; null = not yet.',
  },
  organization_group: { display_name: 'As the directory calls it.', external_id: 'The id in the directory; null = it has told none.' },
} as const;
