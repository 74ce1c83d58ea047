package example;

import java.util.Map;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@Configuration
class OrdersApiSecurity {
  @Bean
  @Order(1)
  SecurityFilterChain api(HttpSecurity http) throws Exception {
    return http
        .securityMatcher("/api/**")
        .authorizeHttpRequests(requests -> requests.anyRequest().hasAuthority("orders:read"))
        .oauth2ResourceServer(server -> server.jwt(Customizer.withDefaults()))
        .build();
  }
}

@RestController
class OrdersApi {
  @GetMapping("/api/orders")
  Map<String, Object> orders(@AuthenticationPrincipal Jwt token) {
    return Map.of("for", token.getSubject());
  }
}
