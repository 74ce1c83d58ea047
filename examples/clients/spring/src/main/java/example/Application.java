package example;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.util.HtmlUtils;

@SpringBootApplication
@RestController
public class Application {
  public static void main(String[] args) {
    SpringApplication.run(Application.class, args);
  }

  @Bean
  @Order(2) // after the API's
  SecurityFilterChain pages(HttpSecurity http, ClientRegistrationRepository registrations) throws Exception {
    var atTheProviderToo = new OidcClientInitiatedLogoutSuccessHandler(registrations);
    atTheProviderToo.setPostLogoutRedirectUri("{baseUrl}/");
    return http
        .authorizeHttpRequests(requests -> requests.requestMatchers("/").permitAll().anyRequest().authenticated())
        .oauth2Login(Customizer.withDefaults())
        .logout(logout -> logout.logoutSuccessHandler(atTheProviderToo))
        .build();
  }

  @GetMapping("/")
  String home(@AuthenticationPrincipal OidcUser person) {
    if (person == null) return "<a href=\"/oauth2/authorization/idp\">Sign in</a>";
    return "Hello " + HtmlUtils.htmlEscape(person.getFullName() + ", " + person.getEmail()) + " <a href=\"/logout\">Sign out</a>";
  }
}
