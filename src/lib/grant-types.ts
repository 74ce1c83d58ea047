/** The grant type by which a device without a browser gets its tokens (RFC 8628 3.4). */
export const deviceCodeGrantType = 'urn:ietf:params:oauth:grant-type:device_code';
