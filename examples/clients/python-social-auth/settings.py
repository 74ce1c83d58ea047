from os import environ

SECRET_KEY = environ["SESSION_SECRET"]
DEBUG = True  # off where it is deployed, with ALLOWED_HOSTS
ROOT_URLCONF = "urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "social_django",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
AUTHENTICATION_BACKENDS = ["social_core.backends.open_id_connect.OpenIdConnectAuth"]
LOGIN_REDIRECT_URL = "/"

SOCIAL_AUTH_OIDC_OIDC_ENDPOINT = environ["ISSUER"]
SOCIAL_AUTH_OIDC_KEY = environ["CLIENT_ID"]
SOCIAL_AUTH_OIDC_SECRET = environ["CLIENT_SECRET"]
SOCIAL_AUTH_OIDC_USE_PKCE = True  # its default is False
SOCIAL_AUTH_OIDC_USERNAME_KEY = "sub"  # stays when the address changes
