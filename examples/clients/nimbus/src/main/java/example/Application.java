package example;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jwt.JWT;
import com.nimbusds.oauth2.sdk.AuthorizationCode;
import com.nimbusds.oauth2.sdk.AuthorizationCodeGrant;
import com.nimbusds.oauth2.sdk.ResponseType;
import com.nimbusds.oauth2.sdk.Scope;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.auth.ClientSecretBasic;
import com.nimbusds.oauth2.sdk.auth.Secret;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.id.Issuer;
import com.nimbusds.oauth2.sdk.id.State;
import com.nimbusds.oauth2.sdk.pkce.CodeChallengeMethod;
import com.nimbusds.oauth2.sdk.pkce.CodeVerifier;
import com.nimbusds.openid.connect.sdk.AuthenticationRequest;
import com.nimbusds.openid.connect.sdk.AuthenticationResponseParser;
import com.nimbusds.openid.connect.sdk.LogoutRequest;
import com.nimbusds.openid.connect.sdk.Nonce;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponse;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponseParser;
import com.nimbusds.openid.connect.sdk.UserInfoRequest;
import com.nimbusds.openid.connect.sdk.UserInfoResponse;
import com.nimbusds.openid.connect.sdk.claims.UserInfo;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import com.nimbusds.openid.connect.sdk.validators.IDTokenValidator;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

public class Application {
  static final URI HOME = URI.create("http://localhost:8080/");
  static final URI CALLBACK = HOME.resolve("callback");

  record Pending(State state, Nonce nonce, CodeVerifier verifier) {}

  record Person(UserInfo claims, JWT idToken) {}

  /** By the id in the cookie. An application keeps these in a store that outlives the process. */
  static final Map<String, Pending> begun = new ConcurrentHashMap<>();

  static final Map<String, Person> people = new ConcurrentHashMap<>();

  static OIDCProviderMetadata provider;
  static ClientSecretBasic client;
  static IDTokenValidator idTokens;

  public static void main(String[] args) throws Exception {
    provider = OIDCProviderMetadata.resolve(new Issuer(System.getenv("ISSUER")));
    client = new ClientSecretBasic(new ClientID(System.getenv("CLIENT_ID")), new Secret(System.getenv("CLIENT_SECRET")));
    idTokens = new IDTokenValidator(provider.getIssuer(), client.getClientID(), JWSAlgorithm.RS256, provider.getJWKSetURI().toURL());

    var server = HttpServer.create(new InetSocketAddress("localhost", 8080), 0);
    server.createContext("/", Application::home);
    server.createContext("/login", Application::login);
    server.createContext("/callback", refusing(Application::callback));
    server.createContext("/logout", Application::logout);
    server.start();
  }

  static void home(HttpExchange http) throws IOException {
    var person = people.get(cookie(http));
    var text = person == null
        ? "<a href=\"/login\">Sign in</a>"
        : "Hello " + escape(person.claims.getName() + ", " + person.claims.getEmailAddress()) + " <a href=\"/logout\">Sign out</a>";
    answer(http, 200, text);
  }

  static void login(HttpExchange http) throws IOException {
    var pending = new Pending(new State(), new Nonce(), new CodeVerifier());
    begun.put(newCookie(http), pending);
    redirect(http, new AuthenticationRequest.Builder(ResponseType.CODE, Scope.parse("openid profile email"), client.getClientID(), CALLBACK)
        .endpointURI(provider.getAuthorizationEndpointURI())
        .state(pending.state)
        .nonce(pending.nonce)
        .codeChallenge(pending.verifier, CodeChallengeMethod.S256)
        .build()
        .toURI());
  }

  static void callback(HttpExchange http) throws Exception {
    var pending = begun.remove(cookie(http));
    var response = AuthenticationResponseParser.parse(HOME.resolve(http.getRequestURI()));
    if (pending == null || !pending.state.equals(response.getState())) throw new IllegalArgumentException("this sign-in was begun elsewhere");
    if (!provider.getIssuer().equals(response.getIssuer())) throw new IllegalArgumentException("another provider answered"); // RFC 9207
    if (!response.indicatesSuccess()) throw new IllegalArgumentException(response.toErrorResponse().getErrorObject().getCode());

    AuthorizationCode code = response.toSuccessResponse().getAuthorizationCode();
    var grant = new AuthorizationCodeGrant(code, CALLBACK, pending.verifier);
    var request = new TokenRequest.Builder(provider.getTokenEndpointURI(), client, grant).build();
    var answer = OIDCTokenResponseParser.parse(request.toHTTPRequest().send());
    if (!answer.indicatesSuccess()) throw new IllegalStateException(answer.toErrorResponse().getErrorObject().getDescription());
    var tokens = ((OIDCTokenResponse) answer).getOIDCTokens();
    var claims = idTokens.validate(tokens.getIDToken(), pending.nonce); // signature, iss, aud, exp and nonce

    var info = UserInfoResponse.parse(new UserInfoRequest(provider.getUserInfoEndpointURI(), tokens.getAccessToken()).toHTTPRequest().send());
    if (!info.indicatesSuccess()) throw new IllegalStateException("no user information");
    var person = info.toSuccessResponse().getUserInfo();
    if (!person.getSubject().equals(claims.getSubject())) throw new IllegalStateException("user information of somebody else");
    people.put(newCookie(http), new Person(person, tokens.getIDToken())); // a new session for whoever signed in
    redirect(http, HOME);
  }

  static void logout(HttpExchange http) throws IOException {
    var person = people.remove(cookie(http));
    redirect(http, person == null ? HOME : new LogoutRequest(provider.getEndSessionEndpointURI(), person.idToken, HOME, null).toURI());
  }

  interface Refusing {
    void handle(HttpExchange http) throws Exception;
  }

  static HttpHandler refusing(Refusing handler) {
    return http -> {
      try {
        handler.handle(http);
      } catch (Exception error) {
        answer(http, 400, escape("Sign-in failed: " + error.getMessage()));
      }
    };
  }

  static String cookie(HttpExchange http) {
    var header = String.join("; ", http.getRequestHeaders().getOrDefault("Cookie", List.of()));
    for (var pair : header.split("; ")) if (pair.startsWith("app=")) return pair.substring("app=".length());
    return "";
  }

  static String newCookie(HttpExchange http) {
    var id = UUID.randomUUID().toString();
    var secure = HOME.getScheme().equals("https") ? "; Secure" : "";
    http.getResponseHeaders().add("Set-Cookie", "app=" + id + "; Path=/; HttpOnly; SameSite=Lax" + secure);
    return id;
  }

  static void redirect(HttpExchange http, URI to) throws IOException {
    http.getResponseHeaders().set("Location", to.toString());
    http.sendResponseHeaders(302, -1);
    http.close();
  }

  static void answer(HttpExchange http, int status, String text) throws IOException {
    var body = text.getBytes(StandardCharsets.UTF_8);
    http.getResponseHeaders().set("Content-Type", "text/html; charset=utf-8");
    http.sendResponseHeaders(status, body.length);
    try (var out = http.getResponseBody()) {
      out.write(body);
    }
  }

  static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }
}
