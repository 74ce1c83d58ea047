import { provideHttpClient } from '@angular/common/http';
import { Component, inject, provideAppInitializer } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { type AuthConfig, OAuthService, provideOAuthClient } from 'angular-oauth2-oidc';
import { environment } from './environment';

const home = `${location.origin}/`;

const settings: AuthConfig = {
  issuer: environment.issuer,
  clientId: environment.clientId,
  redirectUri: home,
  postLogoutRedirectUri: home,
  responseType: 'code',
  scope: 'openid profile email',
};

@Component({
  selector: 'app-root',
  template: `
    @if (person) {
      Hello {{ person['name'] }}, {{ person['email'] }}
      <button (click)="oauth.logOut()">Sign out</button>
    } @else {
      <button (click)="oauth.initCodeFlow()">Sign in</button>
    }
  `,
})
class App {
  readonly oauth = inject(OAuthService);
  readonly person = this.oauth.getIdentityClaims();
}

/** Reads the service's discovery document, and the answer to a sign-in. */
async function begin(): Promise<void> {
  const oauth = inject(OAuthService);
  oauth.configure(settings);
  oauth.setupAutomaticSilentRefresh();
  await oauth.loadDiscoveryDocumentAndTryLogin();
}

bootstrapApplication(App, { providers: [provideHttpClient(), provideOAuthClient(), provideAppInitializer(begin)] });
