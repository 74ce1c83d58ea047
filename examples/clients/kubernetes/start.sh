go mod tidy
go build -p 1 -o application .
sed -e "s|https://id.example.com|$ISSUER|" -e "s|<client id>|$CLIENT_ID|" authentication.yaml > configuration.yaml
# Beside the certificates of the system, that of a service which made its own.
if [ -n "${CERTIFICATE:-}" ]; then export SSL_CERT_FILE="$CERTIFICATE"; fi
exec ./application
