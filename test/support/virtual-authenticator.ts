import type { CDPSession, Page } from 'playwright-core';

/** An authenticator that Chromium pretends to have (WebAuthn L3 11, "User Agent Automation"): the fingerprint reader of the machine that the page is open on. */
export class VirtualAuthenticator {
  private constructor(
    private readonly session: CDPSession,
    private readonly authenticatorId: string,
  ) {}

  /** Plugs one in for the page: it keeps passkeys, and its user is there and verified at once. */
  static async plugIn(page: Page): Promise<VirtualAuthenticator> {
    const session = await page.context().newCDPSession(page);
    // Conditional requests are answered by it too.
    await session.send('WebAuthn.enable', { enableUI: false });
    const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return new VirtualAuthenticator(session, authenticatorId);
  }

  /** How many passkeys it keeps. */
  async count(): Promise<number> {
    const { credentials } = await this.session.send('WebAuthn.getCredentials', { authenticatorId: this.authenticatorId });
    return credentials.length;
  }

  /** Takes it away, with all that it keeps: lost. */
  async lose(): Promise<void> {
    await this.session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: this.authenticatorId });
  }
}
