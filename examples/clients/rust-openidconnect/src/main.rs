use openidconnect::core::{CoreAuthenticationFlow, CoreClient, CoreIdToken, CoreUserInfoClaims};
use openidconnect::{
    reqwest, AuthorizationCode, ClientId, ClientSecret, CsrfToken, IssuerUrl, LogoutRequest, Nonce, OAuth2TokenResponse,
    PkceCodeChallenge, PkceCodeVerifier, PostLogoutRedirectUrl, ProviderMetadataWithLogout, RedirectUrl, Scope, TokenResponse,
};
use std::collections::HashMap;
use std::error::Error;
use std::str::FromStr;
use tiny_http::{Header, Request, Response, Server};

const HOME: &str = "http://localhost:8082/";

enum Session {
    Pending { state: CsrfToken, nonce: Nonce, verifier: PkceCodeVerifier },
    SignedIn { name: String, email: String, id_token: CoreIdToken },
}

fn header(name: &str, value: &str) -> Header {
    Header::from_str(&format!("{name}: {value}")).expect("a header")
}

fn page(body: String) -> Response<std::io::Cursor<Vec<u8>>> {
    Response::from_string(body).with_header(header("content-type", "text/html; charset=utf-8"))
}

fn redirect(to: &str) -> Response<std::io::Cursor<Vec<u8>>> {
    Response::from_string("").with_status_code(302).with_header(header("location", to))
}

fn cookie(request: &Request) -> Option<String> {
    let header = request.headers().iter().find(|header| header.field.equiv("cookie"))?;
    header.value.as_str().split("; ").find_map(|pair| pair.strip_prefix("app=")).map(str::to_owned)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn main() -> Result<(), Box<dyn Error>> {
    // Redirects aren't followed: the addresses come from the issuer alone.
    let http = reqwest::blocking::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    let provider = ProviderMetadataWithLogout::discover(&IssuerUrl::new(std::env::var("ISSUER")?)?, &http)?;
    let end_session = provider.additional_metadata().end_session_endpoint.clone().ok_or("no end_session_endpoint")?;
    let client = CoreClient::from_provider_metadata(
        provider,
        ClientId::new(std::env::var("CLIENT_ID")?),
        Some(ClientSecret::new(std::env::var("CLIENT_SECRET")?)),
    )
    .set_redirect_uri(RedirectUrl::new(format!("{HOME}callback"))?);

    // By the id in the cookie. An application keeps this in a store that outlives the process.
    let mut sessions: HashMap<String, Session> = HashMap::new();
    let server = Server::http("localhost:8082").map_err(|error| error.to_string())?;
    for request in server.incoming_requests() {
        let url = reqwest::Url::parse(HOME)?.join(request.url())?;
        let id = cookie(&request).unwrap_or_default();
        let answer = match url.path() {
            "/" => match sessions.get(&id) {
                Some(Session::SignedIn { name, email, .. }) => {
                    page(format!("Hello {}, {} <a href=\"/logout\">Sign out</a>", escape(name), escape(email)))
                }
                _ => page("<a href=\"/login\">Sign in</a>".to_owned()),
            },
            "/login" => {
                let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
                let (address, state, nonce) = client
                    .authorize_url(CoreAuthenticationFlow::AuthorizationCode, CsrfToken::new_random, Nonce::new_random)
                    .add_scope(Scope::new("profile".to_owned()))
                    .add_scope(Scope::new("email".to_owned()))
                    .set_pkce_challenge(challenge)
                    .url();
                let id = CsrfToken::new_random().secret().clone();
                sessions.insert(id.clone(), Session::Pending { state, nonce, verifier });
                redirect(address.as_str()).with_header(header("set-cookie", &format!("app={id}; Path=/; HttpOnly; SameSite=Lax")))
            }
            "/callback" => match sessions.remove(&id) {
                Some(Session::Pending { state, nonce, verifier }) => {
                    let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
                    if query.get("state") != Some(state.secret()) {
                        return Err("this sign-in was begun elsewhere".into());
                    }
                    let code = AuthorizationCode::new(query.get("code").ok_or("no code")?.clone());
                    let tokens = client.exchange_code(code)?.set_pkce_verifier(verifier).request(&http)?;
                    let id_token = tokens.id_token().ok_or("no ID token")?.clone();
                    let claims = id_token.claims(&client.id_token_verifier(), &nonce)?;
                    let info: CoreUserInfoClaims =
                        client.user_info(tokens.access_token().clone(), Some(claims.subject().clone()))?.request(&http)?;
                    let name = info.name().and_then(|name| name.get(None)).map(|name| name.to_string()).unwrap_or_default();
                    let email = info.email().map(|email| email.to_string()).unwrap_or_default();
                    let id = CsrfToken::new_random().secret().clone(); // a new session for whoever signed in
                    sessions.insert(id.clone(), Session::SignedIn { name, email, id_token });
                    redirect("/").with_header(header("set-cookie", &format!("app={id}; Path=/; HttpOnly; SameSite=Lax")))
                }
                _ => redirect("/"),
            },
            "/logout" => match sessions.remove(&id) {
                Some(Session::SignedIn { id_token, .. }) => {
                    let logout = LogoutRequest::from(end_session.clone())
                        .set_id_token_hint(&id_token)
                        .set_post_logout_redirect_uri(PostLogoutRedirectUrl::new(HOME.to_owned())?);
                    redirect(logout.http_get_url().as_str())
                }
                _ => redirect("/"),
            },
            _ => Response::from_string("not found").with_status_code(404),
        };
        request.respond(answer)?;
    }
    Ok(())
}
