/** Schemes that a browser runs, shows or handles by itself instead of handing the answer to an application. */
const browserSchemes = `about android-app blob brave content data devtools feed file filesystem googlechrome googlechromes firefox firefox-focus intent jar
  javascript livescript mhtml microsoft-edge mk mocha opera opera-http opera-https pcast read resource res vbscript view-source vivaldi wyciwyg`;

/** Schemes of other protocols, which the program that the system has for them would follow to a server of the client's choice. */
const protocolSchemes = `afp cifs dav davs dict dns ftp ftps git gopher ipp ipps irc irc6 ircs ldap ldaps magnet mms mmst nfs nntp news rdp rlogin rtmp rtmps rtsp sftp smb snews
  ssh svn telnet tn3270 vnc ws wss`;

/** Schemes of programs and stores that are on most devices, and do something with what follows: write, call, pay, install, run. */
const programSchemes = `addressbook anydesk app-prefs app-settings apple-systempreferences applescript bitcoin cal callto calshow cid comgooglemaps contact ethereum
  facetime facetime-audio facetime-group facetime-open-link fax geo hcp help im imessage itms itmss lightning line macappstore macappstores mailto maps market
  message messages mid mmsto modem msteams onenote payto photos-redirect prefs search search-ms sgnl shell shortcuts sip sips skype slack sms smsto steam tel
  telprompt tg update upi viber videos waze webcal wechat weixin whatsapp workflow xmpp ymsgr zoommtg zoomphonecall zoomus
  bingmaps calculator fb-messenger jnlp jnlps man odopen spotify teamviewer10 windowsdefender`;

const refused = new Set(`${browserSchemes} ${protocolSchemes} ${programSchemes}`.split(/\s+/));

/**
 * Families: Windows' own programs, stores of Apple, pages inside browsers and their extensions, and `web+`, `ext+`, which any web page or extension may
 * register itself for (HTML, "registerProtocolHandler").
 */
const refusedFamilies =
  /^(?:ms-|itms-|x-apple|x-help-|x-man-page|x-safari-|x-web-|web\+|ext\+|microsoft-edge-|(?:chrome|edge|moz|safari|webkit|itunes)(?:$|-))/;

/**
 * Whether a scheme (without colon, lower case) opens a page or another program: an authorization answer sent there reaches whoever the address
 * names, not the application. What is left are http(s) and private-use schemes of native applications (RFC 8252 7.1).
 */
export const opensElsewhere = (scheme: string): boolean => refused.has(scheme) || refusedFamilies.test(scheme);
