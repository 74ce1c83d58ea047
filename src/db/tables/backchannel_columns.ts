/** How clients hear that a person whom they asked elsewhere has answered (CIBA Core 1.0 5), and whom they may ask. */
export const deliveryModes = ['poll', 'ping'] as const;
export const backchannelUsers = ['known', 'any'] as const;

/** What `clients` has for those that ask people elsewhere. */
export type BackchannelColumns = {
  backchannel_token_delivery_mode: (typeof deliveryModes)[number];
  backchannel_client_notification_endpoint: string | null;
  /** `known`: people who have allowed it something. */
  backchannel_users: (typeof backchannelUsers)[number];
};
