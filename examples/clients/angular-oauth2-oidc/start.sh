npm install
echo "export const environment = { issuer: '$ISSUER', clientId: '$CLIENT_ID' };" > src/environment.ts
exec npx ng serve
