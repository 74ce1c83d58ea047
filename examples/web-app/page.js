const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const json = (value) => `<pre>${escape(JSON.stringify(value, null, 2))}</pre>`;
const button = (action, label) => `<form method="post" action="${action}"><button>${label}</button></form>`;

const signedOut = `<p>You are not signed in.</p><p><a class="button" href="/login">Sign in</a></p>`;

const signedIn = ({ claims, tokens, notes, refreshed = 0 }) => `
  <p>Signed in as <strong>${escape(claims.name ?? claims.email ?? claims.sub)}</strong>.</p>
  <div class="row">${button('/notes', 'Call the API')}${button('/refresh', 'Refresh the tokens')}${button('/logout', 'Sign out')}</div>
  <h2>Claims</h2>${json(claims)}
  <h2>Scope</h2><pre>${escape(tokens.scope)}</pre>
  ${refreshed ? `<p>Refreshed ${refreshed} time${refreshed === 1 ? '' : 's'}.</p>` : ''}
  ${notes ? `<h2>Answer of the API (${notes.status})</h2>${json(notes.body)}` : ''}`;

/** The whole page; everything that comes from outside is escaped. */
export const page = (session) => `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Demo notes</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  body { max-width: 40rem; margin: 10vh auto; padding: 0 16px }
  pre { padding: 12px; border: 1px solid color-mix(in srgb, currentcolor 20%, transparent); border-radius: 8px; overflow: auto; font-size: 13px }
  .row { display: flex; flex-wrap: wrap; gap: 8px }
  button, .button { display: inline-block; padding: 8px 16px; min-height: 40px; border: 0; border-radius: 8px; background: #2b5fc7; color: #fff; font: inherit; text-decoration: none; cursor: pointer }
  :focus-visible { outline: 2px solid; outline-offset: 2px }
</style>
<main><h1>Demo notes</h1>
${session.error ? `<p role="alert">Signing in failed: ${escape(session.error)}</p><p><a href="/">Try again</a></p>` : session.claims ? signedIn(session) : signedOut}
</main></html>`;
