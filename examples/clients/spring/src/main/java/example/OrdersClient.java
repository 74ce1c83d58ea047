package example;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.oauth2.client.AuthorizedClientServiceOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientProviderBuilder;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientService;
import org.springframework.security.oauth2.client.endpoint.RestClientClientCredentialsTokenResponseClient;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.client.OAuth2ClientHttpRequestInterceptor;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

import static org.springframework.security.oauth2.client.web.client.RequestAttributeClientRegistrationIdResolver.clientRegistrationId;

@Configuration
class OrdersClientTokens {
  /** Tokens for the API, with the resource that the service wants named (RFC 8707). */
  @Bean
  OAuth2AuthorizedClientManager tokens(ClientRegistrationRepository registrations, OAuth2AuthorizedClientService clients) {
    var answers = new RestClientClientCredentialsTokenResponseClient();
    answers.setParametersCustomizer(parameters -> parameters.set("resource", "https://orders.example.com"));
    var manager = new AuthorizedClientServiceOAuth2AuthorizedClientManager(registrations, clients);
    manager.setAuthorizedClientProvider(
        OAuth2AuthorizedClientProviderBuilder.builder().clientCredentials(grant -> grant.accessTokenResponseClient(answers)).build());
    return manager;
  }
}

@RestController
class OrdersClient {
  private final RestClient http;

  OrdersClient(OAuth2AuthorizedClientManager tokens) {
    http = RestClient.builder().requestInterceptor(new OAuth2ClientHttpRequestInterceptor(tokens)).build();
  }

  @GetMapping("/orders")
  String orders() {
    return http.get().uri("http://localhost:8080/api/orders").attributes(clientRegistrationId("orders")).retrieve().body(String.class);
  }
}
