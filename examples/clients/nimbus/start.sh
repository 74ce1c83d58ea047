mvn --quiet compile exec:java
