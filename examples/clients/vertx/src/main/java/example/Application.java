package example;

import io.vertx.core.Vertx;
import io.vertx.core.http.CookieSameSite;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.auth.oauth2.OAuth2Auth;
import io.vertx.ext.auth.oauth2.OAuth2Options;
import io.vertx.ext.auth.oauth2.providers.OpenIDConnectAuth;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.OAuth2AuthHandler;
import io.vertx.ext.web.handler.SessionHandler;
import io.vertx.ext.web.sstore.LocalSessionStore;
import java.util.List;

public class Application {
  static final String HOME = "http://localhost:8080/";

  public static void main(String[] args) {
    var vertx = Vertx.vertx();
    var options = new OAuth2Options()
        .setSite(System.getenv("ISSUER"))
        .setClientId(System.getenv("CLIENT_ID"))
        .setClientSecret(System.getenv("CLIENT_SECRET"));
    OpenIDConnectAuth.discover(vertx, options)
        .compose(idp -> vertx.createHttpServer().requestHandler(routes(vertx, idp)).listen(8080, "localhost"))
        .onFailure(error -> {
          error.printStackTrace();
          vertx.close();
        });
  }

  static Router routes(Vertx vertx, OAuth2Auth idp) {
    var router = Router.router(vertx);
    router.route().handler(SessionHandler.create(LocalSessionStore.create(vertx))
        .setCookieHttpOnlyFlag(true)
        .setCookieSecureFlag(HOME.startsWith("https:"))
        .setCookieSameSite(CookieSameSite.LAX));
    var signIn = OAuth2AuthHandler.create(vertx, idp, HOME + "callback")
        .withScopes(List.of("openid", "profile", "email"))
        .pkceVerifierLength(64)
        .setupCallback(router.get("/callback"));

    router.get("/").handler(ctx -> home(ctx, idp));
    router.get("/login").handler(signIn).handler(ctx -> ctx.redirect("/"));
    router.get("/logout").handler(ctx -> {
      var person = ctx.user();
      if (ctx.session() != null) ctx.session().destroy();
      ctx.redirect(person == null ? "/" : idp.endSessionURL(person, new JsonObject().put("post_logout_redirect_uri", HOME)));
    });
    return router;
  }

  static void home(RoutingContext ctx, OAuth2Auth idp) {
    ctx.response().putHeader("content-type", "text/html; charset=utf-8");
    if (ctx.user() == null) {
      ctx.end("<a href=\"/login\">Sign in</a>");
      return;
    }
    idp.userInfo(ctx.user())
        .compose(person -> ctx.end(
            "Hello " + escape(person.getString("name") + ", " + person.getString("email")) + " <a href=\"/logout\">Sign out</a>"))
        .onFailure(ctx::fail);
  }

  static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }
}
