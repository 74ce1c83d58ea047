import { expect, test } from 'vitest';
import { redirectUriProblem } from '../../src/lib/redirect-uri.js';

const elsewhere = [
  'tel:+44', 'TEL:+44', 'sms:+44', 'smsto:+44', 'mms:x', 'mailto:a@b.example', 'facetime:x', 'facetime-audio:x', 'callto:x', 'sip:x', 'skype:x',
  'slack://x', 'msteams:/x', 'zoommtg://x', 'whatsapp://send', 'tg://x', 'geo:0,0', 'webcal://x', 'market://details', 'itms://x', 'itms-apps://x',
  'itms-services://?action=download-manifest', 'macappstore://x', 'intent://x', 'intent:x', 'android-app://x', 'content://x', 'view-source:https://x.example',
  'chrome://settings', 'chrome-extension://x/y', 'moz-extension://x/y', 'edge://flags', 'brave://x', 'about:blank', 'resource://x', 'jar:https://x',
  'javascript:alert(1)', 'vbscript:x', 'data:text/html,x', 'blob:https://x.example/y', 'file:///etc/passwd', 'filesystem:https://x/y', 'ftp://x.example/',
  'ws://x.example/', 'wss://x.example/', 'ssh://x', 'telnet://x', 'ldap://x', 'ms-settings:x', 'ms-msdt:x', 'ms-word:ofe|u|x', 'ms-appx-web://x',
  'ipp://x', 'rtmps://x', 'dns:x', 'anydesk:1', 'teamviewer10://x', 'jnlp:x', 'jnlps://x', 'fb-messenger://x', 'windowsdefender:x', 'odopen://x',
  'microsoft-edge:https://x', 'search-ms:x', 'shortcuts://run', 'web+app:x', 'ext+app:x', 'x-apple.systempreferences:x', 'x-safari-https://x', 'googlechrome://x',
]; // prettier-ignore

test.each(elsewhere)('%s opens something else than the application (attack 2.272)', (uri) => {
  expect(redirectUriProblem(uri)).not.toBeNull();
});

test.each([
  'https://app.example/cb',
  'http://127.0.0.1:4711/cb',
  'com.example.app:/cb',
  'com.example.app://oauth/cb',
  'cursor://anysphere.cursor-mcp/oauth/callback',
  'vscode://publisher.extension/cb',
  'msauth.com.example.app://auth',
  'edgeapp://cb',
  'acme-notes:/cb',
])('%s is an application', (uri) => expect(redirectUriProblem(uri)).toBeNull());
