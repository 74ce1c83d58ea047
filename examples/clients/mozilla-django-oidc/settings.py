from os import environ

SECRET_KEY = environ["SESSION_SECRET"]
DEBUG = True  # off where it is deployed, with ALLOWED_HOSTS
ROOT_URLCONF = "urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "mozilla_django_oidc",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "mozilla_django_oidc.middleware.SessionRefresh",
]
AUTHENTICATION_BACKENDS = ["people.People"]
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"

OIDC_RP_CLIENT_ID = environ["CLIENT_ID"]
OIDC_RP_CLIENT_SECRET = environ["CLIENT_SECRET"]
OIDC_RP_SCOPES = "openid profile email"
OIDC_RP_SIGN_ALGO = "RS256"  # its default is HS256, which no ID token here has
OIDC_USE_PKCE = True
OIDC_OP_AUTHORIZATION_ENDPOINT = environ["ISSUER"] + "/oauth/authorize"
OIDC_OP_TOKEN_ENDPOINT = environ["ISSUER"] + "/oauth/token"
OIDC_OP_USER_ENDPOINT = environ["ISSUER"] + "/oauth/userinfo"
OIDC_OP_JWKS_ENDPOINT = environ["ISSUER"] + "/.well-known/jwks.json"
OIDC_OP_LOGOUT_URL_METHOD = "people.logout_url"
OIDC_STORE_ID_TOKEN = True  # for logout_url
