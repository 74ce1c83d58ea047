from os import environ

SECRET_KEY = environ["SESSION_SECRET"]
DEBUG = True  # off where it is deployed, with ALLOWED_HOSTS
ROOT_URLCONF = "urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_REDIRECT_URL = "/"

ACCOUNT_ADAPTER = "accounts.Accounts"
ACCOUNT_EMAIL_VERIFICATION = "none"  # the provider verifies addresses
ACCOUNT_UNIQUE_EMAIL = False  # people are told apart by sub: an address may change hands
SOCIALACCOUNT_ONLY = True  # no passwords here
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "idp",
                "name": "Example",
                "client_id": environ["CLIENT_ID"],
                "secret": environ["CLIENT_SECRET"],
                "settings": {"server_url": environ["ISSUER"]},
            }
        ],
    }
}
