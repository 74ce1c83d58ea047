/** What a client asks the person elsewhere (CIBA), as long as it waits. */
export type PageApproval = {
  id: string;
  client_id: string;
  name: string;
  binding_message: string | null;
  path: string;
  requested_at: string;
  expires_at: string;
};

/** What was asked for beyond scopes, as a sentence in a language. */
export type PageDetailText = { text: string; lang: string; dir: 'ltr' | 'rtl' };
