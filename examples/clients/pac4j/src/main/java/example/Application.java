package example;

import io.javalin.Javalin;
import io.javalin.http.Context;
import java.util.Optional;
import org.apache.commons.text.StringEscapeUtils;
import org.pac4j.core.config.Config;
import org.pac4j.core.profile.ProfileManager;
import org.pac4j.javalin.CallbackHandler;
import org.pac4j.javalin.JavalinWebContext;
import org.pac4j.javalin.LogoutHandler;
import org.pac4j.javalin.SecurityHandler;
import org.pac4j.jee.context.session.JEESessionStore;
import org.pac4j.oidc.client.OidcClient;
import org.pac4j.oidc.config.OidcConfiguration;
import org.pac4j.oidc.profile.OidcProfile;

public class Application {
  static final String HOME = "http://localhost:8080/";

  public static void main(String[] args) {
    var idp = new OidcConfiguration();
    idp.setDiscoveryURI(System.getenv("ISSUER") + "/.well-known/openid-configuration");
    idp.setClientId(System.getenv("CLIENT_ID"));
    idp.setSecret(System.getenv("CLIENT_SECRET"));
    idp.setScope("openid profile email");
    idp.setUseNonce(true);
    var config = new Config(HOME + "callback", new OidcClient(idp));

    var signOut = new LogoutHandler(config, HOME);
    signOut.destroySession = true;
    signOut.centralLogout = true; // at the provider too

    Javalin.create()
        .get("/", Application::home)
        .before("/login", new SecurityHandler(config, "OidcClient"))
        .get("/login", ctx -> ctx.redirect("/"))
        .get("/callback", new CallbackHandler(config, "/", true))
        .get("/logout", signOut)
        .start("localhost", 8080);
  }

  static void home(Context ctx) {
    Optional<OidcProfile> person = new ProfileManager(new JavalinWebContext(ctx), new JEESessionStore()).getProfile(OidcProfile.class);
    ctx.html(person.map(Application::greeting).orElse("<a href=\"/login\">Sign in</a>"));
  }

  static String greeting(OidcProfile person) {
    return "Hello " + StringEscapeUtils.escapeHtml4(person.getDisplayName() + ", " + person.getEmail()) + " <a href=\"/logout\">Sign out</a>";
  }
}
