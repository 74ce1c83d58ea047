from os import environ
from urllib.parse import urlencode

from allauth.account.adapter import DefaultAccountAdapter


class Accounts(DefaultAccountAdapter):
    """Signs out at the provider too, which asks the person: allauth keeps no ID token to send along."""

    def get_logout_redirect_url(self, request):
        parameters = {
            "client_id": environ["CLIENT_ID"],
            "post_logout_redirect_uri": request.build_absolute_uri("/"),
        }
        return environ["ISSUER"] + "/oauth/logout?" + urlencode(parameters)
