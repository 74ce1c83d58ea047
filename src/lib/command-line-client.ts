/** The public client of the command line `idp`, in every environment, and where a browser comes back to it: any port of the loopback (RFC 8252 7.3). */
export const commandLineClient = { id: 'idp-cli', redirectUri: 'http://127.0.0.1/callback' } as const;
