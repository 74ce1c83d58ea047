mvn --quiet spring-boot:run
